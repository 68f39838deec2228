package zklock

import (
	"context"

	"locklab/harness"
)

// A labKind is a lock that is not a Mutex, for the laboratory.
type labKind struct {
	queues []*queue // where its nodes are
	lock   func(ctx context.Context) (harness.Lease, error)
	try    func(ctx context.Context) (harness.Lease, error) // without waiting
	rlock  func(ctx context.Context) (harness.Lease, error) // nil if readers do not share
}

// remoteOf returns the constructor of a Variant whose client c, at path, opens
// a new worker's view of the lock.
func remoteOf(open func(c *Client, path string) func() labKind) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
	return func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		c, err := dial(ctx, at, ClientOptions{})
		if err != nil {
			return nil, err
		}
		return &labKinds{c, open(c, labRoot+"/"+key)}, nil
	}
}

// labKinds adapts a Client and one lock to the laboratory.
type labKinds struct {
	*Client
	join func() labKind
}

var (
	_ harness.Remote  = (*labKinds)(nil)
	_ harness.Counter = (*labKinds)(nil)
)

func (r *labKinds) Join(context.Context, int) (harness.Session, error) {
	k := r.join()
	if k.rlock != nil {
		return labReader{labWriter{k}}, nil
	}
	return labWriter{k}, nil
}

// Close removes the nodes above the tickets, if this is the last client to
// need them, and ends the client.
func (r *labKinds) Close() error { return r.closeLab(r.join().queues...) }

// labWriter is one worker.
type labWriter struct{ k labKind }

var _ harness.TrySession = labWriter{}

func (s labWriter) Lock(ctx context.Context) (harness.Lease, error)    { return s.k.lock(ctx) }
func (s labWriter) TryLock(ctx context.Context) (harness.Lease, error) { return s.k.try(ctx) }
func (labWriter) Close() error                                         { return nil }

// labReader is one worker of a lock that readers share.
type labReader struct{ labWriter }

var _ harness.RWSession = labReader{}

func (s labReader) RLock(ctx context.Context) (harness.Lease, error) { return s.k.rlock(ctx) }

// labLock adapts a method that takes a lock.
func labLock[L harness.Lease](lock func(context.Context) (L, error)) func(context.Context) (harness.Lease, error) {
	return func(ctx context.Context) (harness.Lease, error) {
		l, err := lock(ctx)
		if err != nil {
			return nil, err // not a nil L that is a Lease
		}
		return l, nil
	}
}
