package zklock_test

import (
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
	for _, next := range []<-chan result{second, reader} {
		var l *zklock.Lease
		expectCost(t, harness.Counts{Requests: 1, Notifications: 1}, func() { unlock(t, head); l = awaitLease(t, next) }, c, d, e)
		expectRisingTokens(t, head, l)
		head = l
	}
	writer := behind(t.Context(), a.Lock)
	expectWaiting(t, writer)
	var last *zklock.Lease
	expectCost(t, harness.Counts{Requests: 2, Notifications: 1}, func() { unlock(t, head); last = awaitLease(t, writer) }, c, d, e)
	expectRisingTokens(t, head, last)
	unlock(t, last)
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
