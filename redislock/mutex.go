package redislock

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/lease"
)

//go:embed acquire.lua
var acquireSource string

//go:embed release.lua
var releaseSource string

var (
	acquireScript = redis.NewScript(acquireSource)
	releaseScript = redis.NewScript(releaseSource)
)

// Defaults of Options.
const (
	// DefaultLease bounds how long a crashed holder blocks the others, and how
	// long a holder may take.
	DefaultLease = 30 * time.Second

	// DefaultPoll lets fifty waiters ask five thousand times a second, which
	// one server answers with a tenth of its capacity.
	DefaultPoll = 10 * time.Millisecond
)

// Options is how a Mutex behaves. The zero value is usable.
type Options struct {
	// Lease is how long the lock is kept for a holder that does not release
	// it. It is not renewed: choose more than the work can take. It is sent
	// in whole milliseconds; 0 is DefaultLease.
	Lease time.Duration

	// Poll is how long a waiter waits on average between two attempts, spread
	// evenly from half to one and a half of it; 0 is DefaultPoll.
	Poll time.Duration

	_ struct{}
}

// A Mutex is a lock between all clients that use the same name on the same
// server. Any number of goroutines may use it; it can be locked again after
// any error. It is not reentrant: a holder that locks it again waits for its
// own lease to end.
type Mutex struct {
	client redis.Scripter
	name   string
	lease  time.Duration
	poll   time.Duration
	work   sync.WaitGroup // goroutines that talk to the server
}

// New returns the mutex with that name: the key of the lock, such as
// "locks:reindex". Any client of go-redis will do. The mutex does not close it.
func New(client redis.Scripter, name string, o Options) *Mutex {
	m := &Mutex{client: client, name: name, lease: o.Lease, poll: o.Poll}
	if m.lease == 0 {
		m.lease = DefaultLease
	}
	if m.poll == 0 {
		m.poll = DefaultPoll
	}
	return m
}

// Name returns the key of the lock.
func (m *Mutex) Name() string { return m.name }

// Lock waits for the lock until ctx ends. If the server cannot be reached
// three times in a row it returns the last error.
//
// It takes one request for each attempt, and one more if the server does not
// have the script yet.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) { return m.lock(ctx, false) }

// TryLock takes the lock if it is free. The error wraps ErrNotAcquired if it
// is not.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, true) }

const (
	// unlockWait bounds Unlock, and what a Lock that failed may still do.
	unlockWait = 2 * time.Second

	// maxFailures is how many requests in a row may fail before an error is
	// returned.
	maxFailures = 3
)

func (m *Mutex) lock(ctx context.Context, try bool) (*Lease, error) {
	l, err := lease.Await(ctx, func(f func()) bool { m.work.Go(f); return true }, nil,
		func() (*Lease, error) { return m.acquire(ctx, try) },
		func(l *Lease) { l.release(ctx) })
	if err != nil && err == ctx.Err() { // acquire says more
		err = fmt.Errorf("redislock: lock %s: %w", m.name, err)
	}
	return l, err
}

// acquire asks for the lock until it has it, ctx ends, or the server fails. It
// leaves a key behind only with a lease.
func (m *Mutex) acquire(ctx context.Context, try bool) (*Lease, error) {
	l := newLease(m)
	doubt := false // the key may be ours without our knowing
	for failures := 0; ; {
		sent := time.Now()
		taken, err := m.run(ctx, acquireScript, l.nonce, m.lease.Milliseconds())
		switch {
		case err == nil && taken && l.start(sent):
			return l, nil
		case err == nil && !taken:
			doubt, failures = false, 0
			if try {
				return nil, ErrNotAcquired
			}
		case err == nil:
			err = fmt.Errorf("the answer took longer than the lease of %v", m.lease)
			fallthrough
		default:
			doubt = doubt || !refused(err)
			if failures++; refused(err) || failures == maxFailures || ctx.Err() != nil {
				return nil, m.giveUp(ctx, l, doubt, err)
			}
		}
		if !m.pause(ctx) {
			return nil, m.giveUp(ctx, l, doubt, nil)
		}
	}
}

// giveUp deletes the key of a Lock that failed, if it may be there, and
// returns the error: that of ctx if it has ended, else err.
func (m *Mutex) giveUp(ctx context.Context, l *Lease, doubt bool, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	err = fmt.Errorf("redislock: lock %s: %w", m.name, err)
	if doubt {
		if _, again := l.delete(ctx); again != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w (and the key may stay for %v)", err, m.lease)
		}
	}
	return err
}

// pause waits before the next attempt, and reports whether there is to be one.
func (m *Mutex) pause(ctx context.Context) bool {
	timer := time.NewTimer(m.poll/2 + rand.N(m.poll+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// run calls a script on the lock's key and returns whether it answered 1.
func (m *Mutex) run(ctx context.Context, s *redis.Script, args ...any) (bool, error) {
	n, err := s.Run(ctx, m.client, []string{m.name}, args...).Int()
	return n == 1, err
}

// refused reports whether err is the server's answer, so that the request has
// surely changed nothing.
func refused(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer)
}

// Do calls f while it holds the lock. The context of f ends with ctx, and when
// the lock is lost; its cause is then an error that wraps ErrLost. Do returns
// what went wrong, in f and in releasing the lock: an error that wraps
// ErrNotHeld says that f ran, at least at its end, without the lock.
func Do(ctx context.Context, m *Mutex, f func(ctx context.Context, l *Lease) error) error {
	return lease.Do(ctx, m.Lock, f)
}

// Locker returns m in the shape of a sync.Locker. Its methods panic where Lock
// and Unlock return an error: if the server fails, and if the lock turns out to
// have been lost. Code that can do better uses Lock or Do.
func Locker(m *Mutex) sync.Locker { return lease.Locker(m.Lock, ErrNotHeld) }
