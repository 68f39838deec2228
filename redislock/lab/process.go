package lab

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/adapt"
	wireredis "locklab/internal/wire/redis"
	"locklab/lock"
)

// A process is the state shared by the locks of a process: connections and goroutines.
type process struct {
	rdb      redis.UniversalClient
	blocking *redis.Client // for commands that block, and to subscribe; nil in a Redis Cluster

	open context.Context // ends with Close
	shut context.CancelCauseFunc

	mu   sync.Mutex     // held while open ends
	work sync.WaitGroup // goroutines started by spawn
}

// blockingConnections sets no limit on blocking connections.
const blockingConnections = 1 << 16

func newProcess(rdb redis.UniversalClient) *process {
	p := &process{rdb: rdb}
	p.open, p.shut = context.WithCancelCause(context.Background())
	if c, ok := rdb.(*redis.Client); ok {
		o := *c.Options()
		o.PoolSize, o.MaxRetries = blockingConnections, -1
		p.blocking = redis.NewClient(&o)
	}
	return p
}

// Close ends every wait and every lease, and every goroutine. Keys without Unlock stay.
func (p *process) Close() error {
	p.mu.Lock()
	p.shut(fmt.Errorf("%w: %w", harness.ErrLost, errClosed))
	p.mu.Unlock()
	var err error
	if p.blocking != nil {
		err = p.blocking.Close() // ends the commands that block
	}
	p.work.Wait()
	return err
}

var errClosed = errors.New("redislock: the client is closed")

// spawn runs f in a goroutine that Close waits for. It returns false if p is closed.
func (p *process) spawn(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open.Err() != nil {
		return false
	}
	p.work.Go(f)
	return true
}

func (p *process) pause(ctx context.Context, d time.Duration) bool {
	return wait(ctx, p, time.After(d)) == nil
}

// wait returns nil when c fires, or an error if ctx or p ends before.
func wait[E any](ctx context.Context, p *process, c <-chan E) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.open.Done():
		return errClosed
	}
}

// await runs acquire in a goroutine of p and waits until ctx ends. It releases a later lease.
func (p *process) await(ctx context.Context, name string, acquire func(context.Context) (*adapt.Lease, error)) (harness.Lease, error) {
	l, err := lock.Await(ctx, p.spawn, errClosed, func() (*adapt.Lease, error) { return acquire(ctx) },
		func(l *adapt.Lease) { _ = l.Unlock(ctx) })
	switch {
	case err == nil:
		return l, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("redislock: %w: %s: %w", harness.ErrNotAcquired, name, ctx.Err())
	}
	return nil, fmt.Errorf("redislock: lock %s: %w", name, err)
}

func (p *process) persist(ctx context.Context, f func() error) error {
	for pause := retryPause; ; pause = min(2*pause, retryMost) {
		err := f()
		var answer redis.Error
		if err == nil || errors.As(err, &answer) || errors.Is(err, redis.ErrClosed) || !p.pause(ctx, pause) {
			return err
		}
	}
}

const (
	// retryPause is the pause after the first failure. It doubles up to retryMost.
	retryPause = 10 * time.Millisecond
	retryMost  = 250 * time.Millisecond

	// undoWait bounds the undoing of a Lock that gives up, requestWait that and an Unlock.
	undoWait    = 80 * time.Millisecond
	requestWait = 2 * time.Second
)

func (p *process) undo(ctx context.Context, f func(context.Context) error) {
	done := make(chan struct{})
	if !p.spawn(func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestWait)
		defer cancel()
		_ = f(ctx) // the rest ends with its lease
	}) {
		return
	}
	select {
	case <-done:
	case <-time.After(undoWait):
	}
}

// plain returns the constructor of a Variant; lock makes its lock, and a session per worker.
func plain(lock func(p *process, name string, ttl time.Duration) (join func() harness.Session), tweak ...func(*redis.Options)) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
	return func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		rdb, counter, err := wireredis.Connect(at, tweak...)
		if err := answers(ctx, rdb, at, err); err != nil {
			return nil, err
		}
		p := newProcess(rdb)
		return &plainClient{counter, p, lock(p, nameOf(key), at.Lease)}, nil
	}
}

// shared returns the join of a lock whose workers need no state.
func shared(s harness.Session) func() harness.Session { return func() harness.Session { return s } }

type plainClient struct {
	*wireredis.Counter
	p    *process
	join func() harness.Session
}

func (r *plainClient) Join(context.Context, int) (harness.Session, error) { return r.join(), nil }

func (r *plainClient) Close() error { return errors.Join(r.p.Close(), r.p.rdb.Close()) }

// A plainSession locks by acquire, which waits unless try is set.
type plainSession struct {
	p       *process
	name    string
	acquire func(ctx context.Context, try bool) (*adapt.Lease, error)
}

var _ harness.TrySession = plainSession{}

func (s plainSession) Lock(ctx context.Context) (harness.Lease, error) {
	return s.take(ctx, false)
}

func (s plainSession) TryLock(ctx context.Context) (harness.Lease, error) {
	return s.take(ctx, true)
}

func (s plainSession) take(ctx context.Context, try bool) (harness.Lease, error) {
	return s.p.await(ctx, s.name, func(ctx context.Context) (*adapt.Lease, error) { return s.acquire(ctx, try) })
}

func (plainSession) Close() error { return nil }

//go:embed lua/*.lua
var luaFiles embed.FS

func newScript(names ...string) *redis.Script {
	var source strings.Builder
	for _, name := range names {
		text, err := luaFiles.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // a missing file, found by the first test
		}
		source.Write(text)
	}
	return redis.NewScript(source.String())
}

var errTooLate = errors.New("the answer took longer than the lease")

// grant returns the lease of a lock that was requested at sent, for span or, if that is 0,
// without end. It fails if no time is left. free releases the lock; renew, if not nil, extends
// the lease to a whole one. Both report whether the lock was held.
func (p *process) grant(sent time.Time, span time.Duration, free, renew func(context.Context) (held bool, err error)) (*adapt.Lease, error) {
	if span == 0 {
		return adapt.NewLease(p.open, time.Time{}, free), nil
	}
	until := leaseEnd(sent, span)
	if !time.Now().Before(until) {
		return nil, errTooLate
	}
	l := adapt.NewLease(p.open, until, free)
	if renew != nil {
		p.spawn(func() {
			for p.pause(l.Context(), span/3) {
				renewOnce(l, span, renew)
			}
		})
	}
	return l, nil
}

func renewOnce(l *adapt.Lease, span time.Duration, renew func(context.Context) (held bool, err error)) {
	until, _ := l.Deadline()
	ctx, cancel := context.WithDeadline(l.Context(), until)
	defer cancel()
	sent := time.Now()
	held, err := renew(ctx)
	switch {
	case l.Err() != nil || err != nil:
	case held:
		l.Extend(leaseEnd(sent, span))
	default:
		l.Lose(adapt.ErrGone)
	}
}

// leaseEnd returns when a lease requested at sent ends, earlier than in the server by the clock
// tolerance, and by 20 ms, at most a tenth of the lease.
func leaseEnd(sent time.Time, span time.Duration) time.Time {
	return sent.Add(span - span/100 - 2*time.Millisecond - min(20*time.Millisecond, span/10))
}
