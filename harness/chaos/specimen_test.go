package chaos_test

import (
	"context"
	"time"

	"locklab/harness"
)

var specimens = []*harness.Variant{
	specimen("free", func(context.Context) error { return nil }),
	specimen("hang", func(context.Context) error { select {} }),
	specimen("crash", func(context.Context) error { panic("the specimen crashes") }),
	specimen("refuse", func(context.Context) error { return harness.ErrNotAcquired }),
	specimen("slow", func(context.Context) error { time.Sleep(250 * time.Millisecond); return nil }),
	lapsing(60 * time.Millisecond),
	fenced(specimen("fenced", func(context.Context) error { return nil })),
}

func fenced(v *harness.Variant) *harness.Variant {
	v.Traits.Fenced = true
	return v
}

func specimen(name string, lock func(ctx context.Context) error) *harness.Variant {
	return &harness.Variant{
		Name: name, Doc: "a lock that is broken on purpose", Paper: "-", Family: harness.Redis, Status: harness.Broken,
		Traits: harness.Traits{Needs: harness.KindRedis},
		Remote: func(context.Context, harness.Endpoint, string) (harness.Remote, error) { return broken{lock}, nil },
	}
}

type broken struct{ lock func(context.Context) error }

func (b broken) Join(context.Context, int) (harness.Session, error) { return b, nil }
func (b broken) Close() error                                       { return nil }

func (b broken) Lock(ctx context.Context) (harness.Lease, error) {
	if err := b.lock(ctx); err != nil {
		return nil, err
	}
	return endless{}, nil
}

func lapsing(d time.Duration) *harness.Variant {
	v := specimen("lapse", nil)
	v.Remote = func(context.Context, harness.Endpoint, string) (harness.Remote, error) { return lapse(d), nil }
	return v
}

type lapse time.Duration

func (l lapse) Join(context.Context, int) (harness.Session, error) { return l, nil }
func (l lapse) Close() error                                       { return nil }

func (l lapse) Lock(context.Context) (harness.Lease, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(l))
	return lapsed{endless{}, ctx, cancel}, nil
}

type lapsed struct {
	endless
	ctx    context.Context
	cancel context.CancelFunc
}

func (l lapsed) Unlock(context.Context) error { l.cancel(); return nil }
func (l lapsed) Done() <-chan struct{}        { return l.ctx.Done() }
func (l lapsed) Err() error                   { return l.ctx.Err() }
func (l lapsed) Deadline() (time.Time, bool)  { return l.ctx.Deadline() }

// endless is a lease that ends only by a release, and does not report that either.
type endless struct{}

func (endless) Unlock(context.Context) error { return nil }
func (endless) Token() uint64                { return 0 }
func (endless) Done() <-chan struct{}        { return nil }
func (endless) Err() error                   { return nil }
func (endless) Deadline() (time.Time, bool)  { return time.Time{}, false }
