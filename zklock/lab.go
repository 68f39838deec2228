package zklock

import (
	"context"
	"time"

	"locklab/harness"
)

// labRoot is the node below which the laboratory keeps its locks.
const labRoot = "/locklab"

// remote returns the constructor of a Variant that follows p,
// or what Client.Mutex does if p is nil.
func remote(p *protocol) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
	return func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		c, err := dial(ctx, at, ClientOptions{})
		if err != nil {
			return nil, err
		}
		m := c.Mutex(labRoot+"/"+key, Options{})
		if p != nil {
			m.p = p
		}
		return &labClient{c, m}, nil
	}
}

// labClient adapts a Client and one Mutex to the laboratory.
type labClient struct {
	*Client
	m *Mutex
}

var (
	_ harness.Remote  = (*labClient)(nil)
	_ harness.Counter = (*labClient)(nil)
)

func (r *labClient) Join(context.Context, int) (harness.Session, error) { return labSession{r.m}, nil }

// Close removes the nodes above the tickets, if this is the last client to
// need them, and ends the client.
func (r *labClient) Close() error { return r.closeLab(&r.m.queue) }

// closeLab is Close for a client of these queues.
func (c *Client) closeLab(queues ...*queue) error {
	done := make(chan struct{})
	tidy := func() {
		defer close(done)
		for _, q := range queues {
			q.removeParents(labRoot)
		}
	}
	if c.spawn(tidy) {
		timer := time.NewTimer(unlockWait)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
		}
	}
	return c.Close()
}

// labSession is one worker. Workers of a client share everything.
type labSession struct{ m *Mutex }

var _ harness.TrySession = labSession{}

func (s labSession) Lock(ctx context.Context) (harness.Lease, error) {
	return leaseOf(s.m.Lock(ctx))
}

func (s labSession) TryLock(ctx context.Context) (harness.Lease, error) {
	return leaseOf(s.m.TryLock(ctx))
}

func (labSession) Close() error { return nil }

// leaseOf keeps a nil *Lease from becoming a Lease that is not nil.
func leaseOf(l *Lease, err error) (harness.Lease, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}
