package lab

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/lease"
	wireredis "locklab/internal/wire/redis"
)

// A process is what the locks of one process share that stand on the plain client
// library: its connections, and the goroutines in which requests run.
type process struct {
	rdb      *redis.Client // this and the next nil if the lock has its own
	blocking *redis.Client // for commands that block, and to subscribe

	open context.Context // ends with Close
	shut context.CancelFunc

	mu   sync.Mutex
	over bool
	work sync.WaitGroup // goroutines started by spawn
}

// blockingConnections does not limit how many block.
const blockingConnections = 1 << 16

func newProcess(rdb *redis.Client) *process {
	o := *rdb.Options()
	o.PoolSize, o.MaxRetries = blockingConnections, -1
	p := newIdle()
	p.rdb, p.blocking = rdb, redis.NewClient(&o)
	return p
}

// newIdle returns one without connections.
func newIdle() *process {
	p := new(process)
	p.open, p.shut = context.WithCancel(context.Background())
	return p
}

// Close ends every wait and every lease, and returns when all goroutines have ended. The
// keys of leases that have not been unlocked stay.
func (p *process) Close() error {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.shut()
	var err error
	if p.blocking != nil {
		err = p.blocking.Close() // ends the commands that block
	}
	p.work.Wait()
	return err
}

var errClosed = errors.New("redislock: the client is closed")

// spawn runs f in a goroutine that Close waits for, and reports whether p was
// still open.
func (p *process) spawn(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return false
	}
	p.work.Go(f)
	return true
}

// pause waits for d and reports whether neither ctx nor p has ended before.
func (p *process) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-p.open.Done():
	}
	return false
}

// closed is errClosed once p is closed, else nil.
func (p *process) closed() error {
	if p.open.Err() != nil {
		return errClosed
	}
	return nil
}

// await runs acquire in a goroutine of p, which the client library may block for long,
// and waits for it until ctx ends. A lease that comes later is released.
func (p *process) await(ctx context.Context, name string, acquire func(context.Context) (*plainLease, error)) (harness.Lease, error) {
	l, err := lease.Await(ctx, p.spawn, errClosed, func() (*plainLease, error) { return acquire(ctx) },
		func(l *plainLease) { _ = l.Unlock(ctx) })
	switch {
	case err == nil:
		return l, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("redislock: %w: %s: %w", harness.ErrNotAcquired, name, ctx.Err())
	}
	return nil, fmt.Errorf("redislock: lock %s: %w", name, err)
}

// persist calls f, which sends one request, until the server answers or ctx ends.
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
	// retryPause is how long to wait before a request that failed is sent again, and
	// retryMost when it has failed again and again.
	retryPause = 10 * time.Millisecond
	retryMost  = 250 * time.Millisecond

	// undoWait is how long a Lock that gives up waits until what it may have left behind
	// is taken back, and requestWait how long that and an Unlock may go on.
	undoWait    = 80 * time.Millisecond
	requestWait = 2 * time.Second
)

// undo runs f, which takes back what a Lock that gives up may have left behind.
func (p *process) undo(ctx context.Context, f func(context.Context) error) {
	done := make(chan struct{})
	if !p.spawn(func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestWait)
		defer cancel()
		_ = f(ctx) // what is left is over with its lease
	}) {
		return
	}
	timer := time.NewTimer(undoWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// A plainLocker is a lock that stands on the plain client library.
type plainLocker interface {
	Lock(ctx context.Context) (harness.Lease, error)
	TryLock(ctx context.Context) (harness.Lease, error)
}

// plain returns the constructor of a Variant whose lock is made by lock, and a worker's
// view of it by that.
func plain(lock func(p *process, name string, ttl time.Duration) (worker func() plainLocker)) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
	return plainWith(func(*redis.Options) {}, lock)
}

// plainWith is plain with a client of other options.
func plainWith(tweak func(*redis.Options), lock func(p *process, name string, ttl time.Duration) (worker func() plainLocker)) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
	return func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		rdb, counter, err := connect(ctx, at, tweak)
		if err != nil {
			return nil, err
		}
		p := newProcess(rdb)
		return &plainClient{counter, p, lock(p, nameOf(key), at.Lease)}, nil
	}
}

// plainClient is a process and its view of one lock, as the lab sees them.
type plainClient struct {
	*wireredis.Counter
	p      *process
	worker func() plainLocker
}

var (
	_ harness.Remote  = (*plainClient)(nil)
	_ harness.Counter = (*plainClient)(nil)
)

func (r *plainClient) Join(context.Context, int) (harness.Session, error) {
	w := plainSession{r.worker()}
	if rw, ok := w.plainLocker.(plainReader); ok {
		return plainRWSession{w, rw}, nil
	}
	return w, nil
}

func (r *plainClient) Close() error { return errors.Join(r.p.Close(), r.p.rdb.Close()) }

// plainSession is one worker.
type plainSession struct{ plainLocker }

var _ harness.TrySession = plainSession{}

func (plainSession) Close() error { return nil }

// A plainReader is a plainLocker that readers share.
type plainReader interface {
	RLock(ctx context.Context) (harness.Lease, error)
}

// plainRWSession is one worker of it.
type plainRWSession struct {
	plainSession
	plainReader
}

var _ harness.RWSession = plainRWSession{}

//go:embed lua/*.lua
var luaFiles embed.FS

// newScript returns the script made of these files, one behind the other.
func newScript(names ...string) *redis.Script {
	var source strings.Builder
	for _, name := range names {
		text, err := luaFiles.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // a name that is not there, seen by the first test
		}
		source.Write(text)
	}
	return redis.NewScript(source.String())
}

// newUUID returns a random UUID, of version 4.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// redissonName returns what Redisson calls a companion of the object called name.
func redissonName(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}

// unlockMessage says on a channel of Redisson's that the lock is free.
const unlockMessage = "0"
