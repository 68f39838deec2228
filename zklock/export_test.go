package zklock

import (
	"context"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
)

// GrantAfterExpiry queues at m, which must be free, and reports whether the
// ticket gets the lock though the session is said to have expired after the
// queue was looked at.
func GrantAfterExpiry(m *Mutex) (bool, error) {
	t := newTicket(&m.queue, m.p)
	if _, err := t.enter(); err != nil {
		return false, err
	}
	v, err := m.p.look(t)
	if err != nil || !v.head {
		return false, err
	}
	m.c.onEvent(zk.Event{Type: zk.EventSession, State: zk.StateExpired})
	return m.c.grant(&Lease{}, t.session), nil
}

// NaiveSemaphore is a semaphore whose waiters watch the ticket as many places
// ahead as there are permits.
var NaiveSemaphore = &harness.Variant{
	Name: "naive", Doc: "watches the wrong ticket", Paper: "none", Family: harness.ZooKeeper, Status: harness.Broken,
	Traits: harness.Traits{Permits: 2, Needs: harness.KindZooKeeper},
	Remote: remoteOf(func(c *Client, path string) func() labKind {
		q := &queue{c, path, Options{}}
		p := &protocol{kind: "permit-", look: func(t *ticket) (view, error) {
			return lookLine(t, func(_ []place, i int) int { return max(-1, i-2) }, "permit-")
		}}
		take := func(try bool) func(context.Context) (harness.Lease, error) {
			return labLock(func(ctx context.Context) (*Lease, error) {
				return q.await(ctx, func() (*Lease, error) { return newTicket(q, p).lock(ctx, try) })
			})
		}
		return func() labKind { return labKind{queues: []*queue{q}, lock: take(false), try: take(true)} }
	}),
}

// FirstWriteRW is a RW that follows Curator's rule on what to watch.
func FirstWriteRW(c *Client, path string) *RW {
	m := c.RW(path, Options{})
	m.read = firstReadQueue
	return m
}

// BlindRW is a RW whose readers do not see writers.
func BlindRW(c *Client, path string) *RW {
	m := c.RW(path, Options{})
	m.read = &protocol{kind: readKind, look: func(t *ticket) (view, error) {
		return lookRead(t, func([]place, int) int { return -1 })
	}}
	return m
}

// WatchesWaiter reports whether a waiter of a semaphore would wait for the
// ticket at path, rather than look again.
func WatchesWaiter(c *Client, path string) (bool, error) {
	wake, err := c.watchUnheld(path)
	return wake != nil, err
}

// HeldMark is what a holder of a semaphore writes into its ticket.
var HeldMark = heldMark
