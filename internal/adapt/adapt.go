package adapt

import (
	"context"
	"errors"
	"time"

	"locklab/harness"
)

// Errors are the sentinels of a library. Each corresponds to the error of package harness
// with the same name; a nil one does not exist in the library.
type Errors struct {
	NotHeld, NotAcquired, Lost, Released, Usage, Unavailable error
}

// Wrap returns an error for which errors.Is holds for err and for the corresponding
// errors of package harness. It keeps the text; nil stays nil.
func (e Errors) Wrap(err error) error {
	if err == nil {
		return nil
	}
	all := []error{err}
	for _, pair := range [...]struct{ theirs, ours error }{
		{e.NotHeld, harness.ErrNotHeld},
		{e.NotAcquired, harness.ErrNotAcquired},
		{e.Lost, harness.ErrLost},
		{e.Released, harness.ErrReleased},
		{e.Usage, harness.ErrUsage},
		{e.Unavailable, harness.ErrUnavailable},
	} {
		if pair.theirs != nil && errors.Is(err, pair.theirs) && !errors.Is(err, pair.ours) {
			all = append(all, pair.ours)
		}
	}
	if len(all) == 1 {
		return err
	}
	return both(all)
}

// both is the first error, and also the others.
type both []error

func (b both) Error() string   { return b[0].Error() }
func (b both) Unwrap() []error { return b }

type wrapped struct {
	harness.Lease
	e Errors
}

func (w wrapped) Unlock(ctx context.Context) error { return w.e.Wrap(w.Lease.Unlock(ctx)) }
func (w wrapped) Err() error                       { return w.e.Wrap(w.Lease.Err()) }

// A Locker is a lock of a library for one worker.
type Locker[L harness.Lease] interface {
	Lock(ctx context.Context) (L, error)
	TryLock(ctx context.Context) (L, error)
}

// NewSession adapts l to the lab: it wraps its leases and errors. The session is a
// [harness.TrySession], and a [harness.RWSession] if l has RLock.
func NewSession[L harness.Lease](e Errors, l Locker[L]) harness.Session {
	s := session{adaptLock(e, l.Lock), adaptLock(e, l.TryLock)}
	if rw, ok := l.(interface {
		RLock(ctx context.Context) (L, error)
	}); ok {
		return rwSession{s, adaptLock(e, rw.RLock)}
	}
	return s
}

type lockFunc func(ctx context.Context) (harness.Lease, error)

func adaptLock[L harness.Lease](e Errors, lock func(context.Context) (L, error)) lockFunc {
	return func(ctx context.Context) (harness.Lease, error) {
		l, err := lock(ctx)
		if err != nil {
			return nil, e.Wrap(err) // not a Lease that contains a nil L
		}
		return wrapped{l, e}, nil
	}
}

type session struct{ lock, try lockFunc }

var _ harness.TrySession = session{}

func (s session) Lock(ctx context.Context) (harness.Lease, error)    { return s.lock(ctx) }
func (s session) TryLock(ctx context.Context) (harness.Lease, error) { return s.try(ctx) }
func (session) Close() error                                         { return nil }

type rwSession struct {
	session
	rlock lockFunc
}

var _ harness.RWSession = rwSession{}

func (s rwSession) RLock(ctx context.Context) (harness.Lease, error) { return s.rlock(ctx) }

// CloseAfter calls end when cleanup has returned or takes too long; end fails its hung request.
func CloseAfter(cleanup func(), end func() error) error {
	const cleanupWait = 2 * time.Second
	done := make(chan struct{})
	go func() {
		defer close(done)
		cleanup()
	}()
	select {
	case <-done:
	case <-time.After(cleanupWait):
	}
	err := end()
	<-done
	return err
}
