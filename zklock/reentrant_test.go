package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/zklock"
)

func TestReentrant(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	atOnce(t, at, []serverTest{
		{"counts", ownerCounts},
		{"lost", ownerLoses},
		{"one of its goroutines queues", ownerQueuesOnce},
		{"zk.Lock on the same path", ownerBesideZKLock},
	})
}

func newReentrant(t *testing.T, at harness.Endpoint, path string) *zklock.Reentrant {
	t.Helper()
	return dial(t, at, zklock.ClientOptions{}).Reentrant(path, zklock.Options{})
}

func ownerCounts(t *testing.T, at harness.Endpoint) {
	path := newPath()
	m, other := newReentrant(t, at, path), newReentrant(t, at, path)
	o := m.Owner()
	var leases []*zklock.Lease
	for i := range 4 {
		l := acquire(t, o.TryLock)
		if l.Token() == 0 || i > 0 && l.Token() != leases[0].Token() {
			t.Errorf("the token of lease %d is %d, want that of the first", i, l.Token())
		}
		if leases = append(leases, l); o.Count() != i+1 {
			t.Errorf("Count = %d, want %d", o.Count(), i+1)
		}
	}
	next := behind(t.Context(), other.Owner().Lock)
	for i, k := range []int{0, 2, 3, 1} { // the first is nothing special
		expectWaiting(t, next)
		unlock(t, leases[k])
		expectError(t, leases[k].Unlock(t.Context()), zklock.ErrNotHeld)
		expectError(t, leases[k].Err(), zklock.ErrReleased)
		expectEqual(t, "Count", o.Count(), 3-i)
	}
	l := awaitLease(t, next)
	expectRisingTokens(t, leases[0], l)
	unlock(t, l)
}

func expectExcluded(t *testing.T, what string, f taker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), aWhile)
	defer cancel()
	if l, err := f(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s gets %v, %v, want that it waits", what, l, err)
	}
}

func ownerLoses(t *testing.T, at harness.Endpoint) {
	p := newProxy(t, at)
	c := dial(t, p.at, zklock.ClientOptions{SessionTimeout: time.Second})
	zklock.SetMargin(c, -time.Hour) // only the servers end its session
	m := c.Reentrant(newPath(), zklock.Options{})
	o := m.Owner()
	outer, inner := acquire(t, o.Lock), acquire(t, o.Lock)
	expire(t, raw(t, at), p, m.Path())
	for _, l := range []*zklock.Lease{inner, outer} {
		<-l.Done()
		expectError(t, lockError(t.Context(), o.Lock), zklock.ErrSessionExpired)
		expectLost(t, l)
	}
	expectEqual(t, "Count", o.Count(), 0)
	l := acquire(t, o.Lock)
	expectRisingTokens(t, outer, l)
	unlock(t, l)
}

// ownerQueuesOnce: one goroutine of an owner queues for all, and another if that one gives up.
func ownerQueuesOnce(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	m := newReentrant(t, at, path)
	o, other := m.Owner(), m.Owner()
	held := acquire(t, other.Lock)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a, b, c := behind(ctx, o.Lock), behind(t.Context(), o.Lock), behind(t.Context(), o.Lock)
	awaitQueue(t, see, path, 2)
	expectError(t, lockError(t.Context(), o.TryLock), zklock.ErrNotAcquired)
	cancel()
	expectError(t, (<-a).err, context.Canceled)
	expectWaiting(t, b)
	awaitQueue(t, see, path, 2)
	unlock(t, held)
	first, second := awaitLease(t, b), awaitLease(t, c)
	awaitQueue(t, see, path, 1)
	unlock(t, first)
	expectExcluded(t, "another owner", other.Lock)
	unlock(t, second)
	awaitQueue(t, see, path, 0)
}

func ownerBesideZKLock(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	m := newReentrant(t, at, path)
	theirs := zk.NewLock(see.Conn.Conn, path, zk.WorldACL(zk.PermAll))
	requireNoError(t, theirs.Lock())
	o := m.Owner()
	next := behind(t.Context(), o.Lock)
	expectWaiting(t, next)
	requireNoError(t, theirs.Unlock())
	l := awaitLease(t, next)
	locked := make(chan error, 1)
	go func() { locked <- theirs.Lock() }()
	awaitQueue(t, see, path, 2)
	inner := acquire(t, o.Lock)
	unlock(t, l)
	select {
	case err := <-locked:
		t.Fatalf("zk.Lock got in beside the owner: %v", err)
	case <-time.After(aWhile):
	}
	unlock(t, inner)
	requireNoError(t, <-locked)
	requireNoError(t, theirs.Unlock())
}

// expire ends the session of the client behind p, with its ticket, and lets it reconnect.
func expire(t *testing.T, see interface {
	Children(string) ([]string, *zk.Stat, error)
}, p *proxy, path string) {
	t.Helper()
	p.disconnect()
	eventually(t, "the session expires", func() bool {
		names, _, err := see.Children(path)
		return err == nil && len(names) == 0
	})
	p.Refuse(false)
}
