package zklock_test

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/zklock"
)

func TestQueue(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	atOnce(t, at, []serverTest{
		{"requests alone", requestsAlone},
		{"requests behind others", requestsBehindOthers},
		{"waiters give up again and again", watchesShared},
		{"containers", containers},
	})
}

// requestsAlone: the requests of each kind, and of a Mutex whose node is unusual.
func requestsAlone(t *testing.T, at harness.Endpoint) {
	see, c := raw(t, at), dial(t, at, zklock.ClientOptions{})
	expect := func(what string, f taker, each uint64, prepare func()) {
		unlock(t, acquire(t, f)) // makes the parents
		prepare()
		for range 2 {
			unlock(t, acquire(t, f)) // one watches the node of the lock
		}
		got := cost(func() {
			for range 10 {
				unlock(t, acquire(t, f))
			}
		}, c)
		if got.Requests != 10*each || got.Notifications > 0 && what != "semaphore v2" { // that watches the list
			t.Errorf("%s: 10 acquisitions cost %+v, want %d requests each", what, got, each)
		}
	}
	for _, k := range kinds {
		expect(k.name, k.lock(c, newPath()).Lock, k.alone, func() {})
	}
	closed, shared := c.Mutex(newPath(), zklock.Options{}), c.Mutex(newPath(), zklock.Options{})
	expect("a node that cannot be written", closed.Lock, 2, func() { setACL(t, see, closed.Path(), zk.WorldACL(zk.PermAll&^zk.PermWrite)) })
	expect("a foreign child", shared.Lock, 2, func() { createNode(t, see, shared.Path()+"/foreign", nil, zk.FlagEphemeral) })
}

func watchesShared(t *testing.T, at harness.Endpoint) {
	holder, c := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	see := raw(t, at)
	path := newPath()
	m := c.Mutex(path, zklock.Options{})
	l := lock(t, holder.Mutex(path, zklock.Options{}))
	const waiters = 10
	var start harness.Counts
	for k := range waiters + 1 {
		if k == 1 { // the first does not know yet that there are others
			start = counts(c)
		}
		ctx, cancel := context.WithCancel(t.Context())
		got := waiting(t, ctx, m, see, 2)
		cancel()
		expectError(t, (<-got).err, context.Canceled)
	}
	// Each creates, lists and deletes; the first watched.
	if got := counts(c).Sub(start).Requests; got > 3*waiters {
		t.Errorf("%d waiters that gave up cost %d requests, want at most %d", waiters, got, 3*waiters)
	}
	next := waiting(t, t.Context(), m, see, 2) // on the same watch
	expectWaiting(t, next)
	unlock(t, l)
	unlock(t, awaitLease(t, next))
	expectEqual(t, "watch events", counts(c).Sub(start).Notifications, 1)
	// The next predecessor has a separate watch.
	l = lock(t, holder.Mutex(path, zklock.Options{}))
	next = waiting(t, t.Context(), m, see, 2)
	expectWaiting(t, next)
	unlock(t, l)
	unlock(t, awaitLease(t, next))
}

// containers: a node does not show whether it is a container, so the test checks the requests.
func containers(t *testing.T, at harness.Endpoint) {
	p := newProxy(t, at)
	c := dial(t, p.at, zklock.ClientOptions{})
	unlock(t, lock(t, c.Mutex(newPath()+"/a/b", zklock.Options{})))
	expectEqual(t, "containers were asked for", p.Seen("createContainer"), 0)
	unlock(t, lock(t, c.Mutex(newPath()+"/a/b", zklock.Options{Container: true})))
	if n := p.Seen("createContainer"); n != 5 { // including existing ones
		t.Errorf("%d containers were asked for, want 5", n)
	}
	if n := p.Seen("create"); n != 5+3 { // of the first; and tickets, of the second one in vain
		t.Errorf("%d plain nodes were asked for, want 8", n)
	}
}
