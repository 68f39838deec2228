package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Lease is one acquisition of a lock, with the methods that this package needs.
type Lease interface {
	Unlock(ctx context.Context) error // works under a cancelled ctx
	Done() <-chan struct{}            // closed when the lock is released or may be lost
	Err() error                       // nil while the lock is held, then why it ended
}

// Do calls f while it holds the lock that lock takes. The context of f ends
// with ctx, and when the lock is lost; its cause is then Lease.Err. Do returns
// the errors of f and of the release. A ctx that is nil does not end.
func Do[L Lease](ctx context.Context, lock func(context.Context) (L, error), f func(context.Context, L) error) (err error) {
	ctx = Given(ctx)
	l, err := lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = Join(err, l.Unlock(ctx)) }()
	inside, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-l.Done():
			cancel(l.Err())
		case <-inside.Done():
		}
	})
	defer watch.Wait()
	defer cancel(nil)
	return f(inside, l)
}

// Join is errors.Join of two errors in one line.
func Join(err, next error) error {
	if err == nil || next == nil {
		return cmp.Or(err, next)
	}
	return fmt.Errorf("%w; %w", err, next)
}

// Elect calls lead while it holds the lock that lock takes, as Do does. If the error of that
// lease wraps lost, Elect ignores the result of lead and calls it again with the next lease.
// Else it returns the result of Do, and an error that wraps ctx's if ctx has ended.
func Elect[L Lease](ctx context.Context, lock func(context.Context) (L, error), lost error, lead func(context.Context, L) error) error {
	ctx = Given(ctx)
	for {
		var ended error
		err := Do(ctx, lock, func(inside context.Context, l L) error {
			err := lead(inside, l)
			ended = l.Err()
			return err
		})
		switch over := ctx.Err(); {
		case over == nil && errors.Is(ended, lost):
			// It campaigns again.
		case over == nil || errors.Is(err, over):
			return err
		default:
			return Join(over, err)
		}
	}
}

// Locker returns a sync.Locker that takes its leases by lock. Its methods panic if lock or
// Unlock returns an error; Unlock of a Locker that is not locked panics with notHeld.
func Locker[L Lease](lock func(context.Context) (L, error), notHeld error) sync.Locker {
	return &locker[L]{lock: lock, notHeld: notHeld}
}

type locker[L Lease] struct {
	// mu keeps the other users out until Unlock, which could not distinguish their leases.
	mu      sync.Mutex
	lock    func(context.Context) (L, error)
	notHeld error

	held  bool
	lease L
}

func (k *locker[L]) Lock() {
	k.mu.Lock()
	l, err := k.lock(context.Background())
	if err != nil {
		k.mu.Unlock()
		panic(err)
	}
	k.held, k.lease = true, l
}

func (k *locker[L]) Unlock() {
	if !k.held {
		panic(k.notHeld)
	}
	k.held = false
	defer k.mu.Unlock()
	if err := k.lease.Unlock(context.Background()); err != nil {
		panic(err)
	}
}

// Given returns ctx, or a context that does not end if ctx is nil. Every method with a context
// calls it: a nil context must neither panic in a goroutine of the client nor leave the lock held.
func Given(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// grace is how long a Lock whose context has ended waits for its request's withdrawal.
const grace = 100 * time.Millisecond

// Await runs acquire, which client libraries may block for long, in a goroutine
// that spawn starts, and waits for it until ctx has ended and a moment more has
// passed. A lease that comes later is handed to drop. spawn returns false if
// it no longer starts goroutines; the error is then closed.
func Await[L any](ctx context.Context, spawn func(func()) bool, closed error, acquire func() (L, error), drop func(L)) (l L, err error) {
	if err := ctx.Err(); err != nil {
		return l, err
	}
	type result struct {
		l   L
		err error
	}
	got, left := make(chan result), make(chan struct{})
	if !spawn(func() {
		l, err := acquire()
		select {
		case got <- result{l, err}:
		case <-left:
			if err == nil {
				drop(l)
			}
		}
	}) {
		return l, closed
	}
	select {
	case r := <-got:
		return r.l, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-got:
		return r.l, r.err
	case <-time.After(grace):
		close(left)
		return l, ctx.Err()
	}
}

// The errors of every lock; each library wraps them in its own errors of the same names.
var (
	// ErrNotHeld is returned by Unlock if the lock was lost or was released before.
	ErrNotHeld = errors.New("lock not held")

	// ErrNotAcquired is returned while another client has the lock; Lock adds the error of ctx.
	ErrNotAcquired = errors.New("lock not acquired")

	// ErrLost is the cause of a lease that ended without Unlock.
	ErrLost = errors.New("lock lost")

	// ErrReleased is the cause of a lease that ended by Unlock.
	ErrReleased = errors.New("lock released")

	// ErrUsage is returned for an invalid option, name or address.
	ErrUsage = errors.New("invalid configuration")

	// ErrUnavailable is returned if no server answers.
	ErrUnavailable = errors.New("no server to talk to")
)

// A Contender is a client that holds a lock or waits for it.
type Contender struct {
	Name  string    // ClientOptions.Name of the client; without one, another name of the owner or ""
	Since time.Time // when it got the lock or began to wait, by the server's clock; zero if unknown
	Token uint64    // of its lease or of its place in the queue; 0 without one
}

// ListAll returns the contenders of all parts of a lock, one part after another.
func ListAll[P any](ctx context.Context, parts []P, list func(P, context.Context) ([]Contender, error)) (all []Contender, err error) {
	for _, part := range parts {
		some, err := list(part, ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}
