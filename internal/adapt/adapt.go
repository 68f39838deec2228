package adapt

import (
	"context"
	"time"

	"locklab/harness"
)

// A Locker is a lock of a library for one worker.
type Locker[L harness.Lease] interface {
	Lock(ctx context.Context) (L, error)
	TryLock(ctx context.Context) (L, error)
}

// NewSession adapts l to the lab. The session is a [harness.TrySession], and a
// [harness.RWSession] if l has RLock.
func NewSession[L harness.Lease](l Locker[L]) harness.Session {
	if rw, ok := l.(reader[L]); ok {
		return rwSession[L]{session[L]{l}, rw}
	}
	return session[L]{l}
}

type session[L harness.Lease] struct{ l Locker[L] }

func (s session[L]) Lock(ctx context.Context) (harness.Lease, error) { return orNil(s.l.Lock(ctx)) }
func (s session[L]) TryLock(ctx context.Context) (harness.Lease, error) {
	return orNil(s.l.TryLock(ctx))
}
func (session[L]) Close() error { return nil }

type reader[L harness.Lease] interface {
	RLock(ctx context.Context) (L, error)
}

type rwSession[L harness.Lease] struct {
	session[L]
	rw reader[L]
}

func (s rwSession[L]) RLock(ctx context.Context) (harness.Lease, error) {
	return orNil(s.rw.RLock(ctx))
}

// orNil returns l, or with an error nil instead of a Lease that contains a nil L.
func orNil[L harness.Lease](l L, err error) (harness.Lease, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// OnServers sets the family of vs, and the kind of server that they need.
func OnServers(family harness.Family, kind string, vs []*harness.Variant) []*harness.Variant {
	for _, v := range vs {
		v.Family, v.Traits.Needs = family, kind
	}
	return vs
}

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
