package zklock_test

import (
	"context"
	"slices"
	"testing"

	"locklab/harness"
	"locklab/zklock"
)

func rwAmongReaders(t *testing.T, at harness.Endpoint) {
	c, d := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	m := c.RWMutex(newPath(), zklock.Options{})
	n := d.RWMutex(m.Path(), zklock.Options{})
	held := acquire(t, n.RLock)
	unlock(t, acquire(t, m.RLock)) // has met another
	for range 10 {
		if have := cost(func() { unlock(t, acquire(t, m.RLock)) }, c, d); have != (harness.Counts{Requests: 3}) {
			t.Fatalf("an acquisition among readers costs %+v, want 3 requests", have)
		}
	}
	unlock(t, held)
}

// rwHandOver: from a writer's release to the next lock no client sends a request.
func rwHandOver(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	c := dial(t, at, zklock.ClientOptions{})
	a := c.RWMutex(path, zklock.Options{})
	d := dial(t, at, zklock.ClientOptions{})
	b := d.RWMutex(path, zklock.Options{})
	e := dial(t, at, zklock.ClientOptions{})
	r := e.RWMutex(path, zklock.Options{})
	head := acquire(t, a.Lock)
	second := behind(t.Context(), b.Lock)
	awaitQueue(t, see, path, 2)
	reader := behind(t.Context(), r.RLock)
	awaitQueue(t, see, path, 3)
	expectWaiting(t, reader)
	last := head.Token()
	for _, next := range []<-chan result{second, reader} {
		var l *zklock.Lease
		expectCost(t, harness.Counts{Requests: 1, Notifications: 1}, func() { unlock(t, head); l = awaitLease(t, next) }, c, d, e)
		if l.Token() <= last {
			t.Errorf("token %d after %d", l.Token(), last)
		}
		head, last = l, l.Token()
	}
	writer := behind(t.Context(), a.Lock)
	expectWaiting(t, writer)
	expectCost(t, harness.Counts{Requests: 2, Notifications: 1}, func() { unlock(t, head); head = awaitLease(t, writer) }, c, d, e)
	if head.Token() <= last {
		t.Errorf("token %d after a reader's %d", head.Token(), last)
	}
	unlock(t, head)
	awaitQueue(t, see, path, 0)
}

func rwBehindWriters(t *testing.T, at harness.Endpoint) {
	for _, test := range []struct {
		name string
		open func(c *zklock.Client, path string) *zklock.RWMutex
		want harness.Counts
	}{
		{"nearest", func(c *zklock.Client, path string) *zklock.RWMutex { return c.RWMutex(path, zklock.Options{}) },
			harness.Counts{Requests: 4, Notifications: 1}},
		{"first", firstWriteRWMutex, harness.Counts{Requests: 9, Notifications: 3}},
	} {
		see, path := raw(t, at), newPath()
		c := dial(t, at, zklock.ClientOptions{})
		m := test.open(c, path)
		other := newRW(t, at, path)
		held := acquire(t, other.RLock)
		unlock(t, acquire(t, m.RLock)) // has met another
		unlock(t, held)
		before := counts(c)
		var writers []<-chan result
		for i := range 3 {
			m := newRW(t, at, path)
			writers = append(writers, behind(t.Context(), m.Lock))
			awaitQueue(t, see, path, i+1)
		}
		reader := behind(t.Context(), m.RLock)
		for _, w := range writers {
			l := awaitLease(t, w)
			expectWaiting(t, reader)
			unlock(t, l)
		}
		unlock(t, awaitLease(t, reader))
		if have := counts(c).Sub(before); have != test.want {
			t.Errorf("the rule %q costs a reader behind three writers %+v, want %+v", test.name, have, test.want)
		}
	}
}

// rwCrowd: 50 clients, every tenth of which writes. A reader needs 4 requests: create, list,
// watch, delete; a writer behind readers at least 5.
func rwCrowd(t *testing.T, at harness.Endpoint) {
	const readers, writers = 45, 5
	read := func(s harness.Session, ctx context.Context) (harness.Lease, error) {
		return s.(harness.RWSession).RLock(ctx)
	}
	locks := append(slices.Repeat([]func(harness.Session, context.Context) (harness.Lease, error){read}, readers/writers), harness.Session.Lock)
	nearest, events := contendedCost(t, at, variant(t, "zk-rw"), readers+writers, locks...)
	first, firstEvents := contendedCost(t, at, variant(t, "zk-rw-curator"), readers+writers, locks...)
	t.Logf("%d readers and %d writers: %.2f requests and %.2f events, by Curator's rule %.2f and %.2f",
		readers, writers, nearest, events, first, firstEvents)
	if nearest > 5 || events > 1.2 {
		t.Errorf("%.2f requests and %.2f events for an acquisition, want at most 5.0, about 4.2, and 1.0", nearest, events)
	}
	if first < nearest+2 {
		t.Errorf("Curator's rule costs %.2f requests, hardly more than %.2f: the test shows nothing", first, nearest)
	}
}
