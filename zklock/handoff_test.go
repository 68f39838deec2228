package zklock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/zklock"
)

func TestHandoff(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	atOnce(t, at, []serverTest{
		{"one by one", oneByOne},
		{"the event is the lock", eventIsLock},
		{"every waiter of a client hears of it", sharedEvent},
		{"foreign writes, sealed", foreignWriteSealed},
		{"foreign writes, unsealed", foreignWriteUnsealed},
		{"foreign writes, forged", foreignWriteForged},
		{"identity of another kind", estranged},
		{"credentials", sealedWithCredentials},
		{"waiter behind a cut", cutWaiterLists},
	})
}

func cost(f func(), cs ...*zklock.Client) (sum harness.Counts) {
	var before []harness.Counts
	for _, c := range cs {
		before = append(before, counts(c))
	}
	f()
	for i, c := range cs {
		sum = sum.Add(counts(c).Sub(before[i]))
	}
	return sum
}

func expectCost(t *testing.T, want harness.Counts, f func(), cs ...*zklock.Client) {
	t.Helper()
	expectEqual(t, "it costs", cost(f, cs...), want)
}

func oneByOne(t *testing.T, at harness.Endpoint) {
	path := newPath()
	c, d := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	m, n := c.Mutex(path, zklock.Options{}), d.Mutex(path, zklock.Options{})
	for range 3 {
		unlock(t, lock(t, m))
		unlock(t, lock(t, n))
	}
	got := cost(func() {
		for range 10 {
			unlock(t, lock(t, m))
			unlock(t, lock(t, n))
		}
	}, c, d)
	expectEqual(t, "20 acquisitions in turn cost", got, harness.Counts{Requests: 60})
	if got := cost(func() { unlock(t, lock(t, m)) }, c); got.Requests != 3 {
		t.Errorf("alone it costs %d requests, want 3", got.Requests)
	}
}

func eventIsLock(t *testing.T, at harness.Endpoint) {
	see := raw(t, at)
	path := newPath()
	c, d := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	head := lock(t, c.Mutex(path, zklock.Options{}))
	next := waiting(t, t.Context(), d.Mutex(path, zklock.Options{}), see, 2)
	var l *zklock.Lease
	expectCost(t, harness.Counts{Requests: 1, Notifications: 1}, func() {
		unlock(t, head)
		l = awaitLease(t, next)
	}, c, d)
	expectRisingTokens(t, head, l)
	unlock(t, l)
	awaitQueue(t, see, path, 0)
}

// sharedEvent: a waiter that has given up leaves the event to the one behind, on one watch.
func sharedEvent(t *testing.T, at harness.Endpoint) {
	see := raw(t, at)
	path := newPath()
	c, d := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	m := d.Mutex(path, zklock.Options{})
	head := lock(t, c.Mutex(path, zklock.Options{}))
	ctx, cancel := context.WithCancel(t.Context())
	first := waiting(t, ctx, m, see, 2)
	second := waiting(t, t.Context(), m, see, 3)
	cancel()
	expectError(t, (<-first).err, context.Canceled)
	expectWaiting(t, second) // it was woken, and watches the holder now
	expectCost(t, harness.Counts{Requests: 1, Notifications: 1}, func() {
		unlock(t, head)
		unlock(t, awaitLease(t, second))
	}, d)
}

// estranged: the holder's own node is closed to it. It deletes the node, and stops sealing.
func estranged(t *testing.T, at harness.Endpoint) {
	see := raw(t, at)
	c := dial(t, at, zklock.ClientOptions{})
	zklock.Estrange(c)
	m := c.Mutex(newPath(), zklock.Options{})
	head := lock(t, m)
	next := waiting(t, t.Context(), m, see, 2)
	unlock(t, head)
	unlock(t, awaitLease(t, next))
	if zklock.Sealed(c) {
		t.Error("the client still seals its tickets")
	}
	unlock(t, lock(t, m))
	awaitQueue(t, see, m.Path(), 0)
}

// sealedWithCredentials: clients of one user hand over to each other, and cannot write.
func sealedWithCredentials(t *testing.T, at harness.Endpoint) {
	unlock(t, lock(t, dial(t, at, zklock.ClientOptions{}).Mutex(newPath(), zklock.Options{}))) // the root is open to all
	at.Username, at.Password = user, password
	mine, stranger := raw(t, at), raw(t, harness.Endpoint{Kind: at.Kind, Addrs: at.Addrs})
	o := zklock.ClientOptions{Username: user, Password: password}
	c, d := dial(t, at, o), dial(t, at, o)
	path := newPath()
	head := lock(t, c.Mutex(path, zklock.Options{}))
	next := waiting(t, t.Context(), d.Mutex(path, zklock.Options{}), mine, 2)
	if _, err := mine.Set(zklock.Node(head), revoke, -1); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("the same user writes to the ticket: %v, want %v", err, zk.ErrNoAuth)
	}
	if _, _, err := stranger.Get(zklock.Node(head)); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("a stranger reads the ticket: %v, want %v", err, zk.ErrNoAuth)
	}
	expectError(t, stranger.Delete(zklock.Node(head), -1), zk.ErrNoAuth)
	expectCost(t, harness.Counts{Requests: 1, Notifications: 1}, func() {
		unlock(t, head)
		unlock(t, awaitLease(t, next))
	}, d)
}

func cutWaiterLists(t *testing.T, at harness.Endpoint) {
	p, see := newProxy(t, at), raw(t, at)
	path := newPath()
	d := dial(t, p.at, zklock.ClientOptions{})
	head := lock(t, dial(t, at, zklock.ClientOptions{}).Mutex(path, zklock.Options{}))
	next := waiting(t, t.Context(), d.Mutex(path, zklock.Options{}), see, 2)
	p.cut()
	eventually(t, "the waiter is back", func() bool { return p.Seen("setWatches") > 0 })
	expectWaiting(t, next)
	expectCost(t, harness.Counts{Requests: 2, Notifications: 1}, func() {
		unlock(t, head)
		unlock(t, awaitLease(t, next))
	}, d)
}
