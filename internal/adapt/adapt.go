package adapt

import (
	"context"
	"errors"

	"locklab/harness"
)

// Errors are the sentinels of a library, each of which means the error of package
// harness that has its name. Those that are nil the library does not have.
type Errors struct {
	NotHeld, NotAcquired, Lost, Released, Usage, Unavailable error
}

// Wrap returns err, for which errors.Is then also holds with the errors of package
// harness that its sentinels mean. The text stays, and so does nil.
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

// both is an error, the first, that is others too.
type both []error

func (b both) Error() string   { return b[0].Error() }
func (b both) Unwrap() []error { return b }

// Lease returns l, whose errors are then wrapped.
func (e Errors) Lease(l harness.Lease) harness.Lease { return wrapped{l, e} }

type wrapped struct {
	harness.Lease
	e Errors
}

func (w wrapped) Unlock(ctx context.Context) error { return w.e.Wrap(w.Lease.Unlock(ctx)) }
func (w wrapped) Err() error                       { return w.e.Wrap(w.Lease.Err()) }

// Lock returns lock, a method that takes a lock of the library, as one of the lab:
// its leases and errors are wrapped.
func Lock[L harness.Lease](e Errors, lock func(context.Context) (L, error)) func(context.Context) (harness.Lease, error) {
	return func(ctx context.Context) (harness.Lease, error) {
		l, err := lock(ctx)
		if err != nil {
			return nil, e.Wrap(err) // not a nil L that is a Lease
		}
		return e.Lease(l), nil
	}
}
