package adapt

import (
	"context"
	"errors"

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

// Lease returns l with wrapped errors.
func (e Errors) Lease(l harness.Lease) harness.Lease { return wrapped{l, e} }

type wrapped struct {
	harness.Lease
	e Errors
}

func (w wrapped) Unlock(ctx context.Context) error { return w.e.Wrap(w.Lease.Unlock(ctx)) }
func (w wrapped) Err() error                       { return w.e.Wrap(w.Lease.Err()) }

// Lock adapts lock, a method that takes a lock of the library, to the lab: it wraps its
// leases and errors.
func Lock[L harness.Lease](e Errors, lock func(context.Context) (L, error)) func(context.Context) (harness.Lease, error) {
	return func(ctx context.Context) (harness.Lease, error) {
		l, err := lock(ctx)
		if err != nil {
			return nil, e.Wrap(err) // not a Lease that contains a nil L
		}
		return e.Lease(l), nil
	}
}
