package zklock_test

import (
	"testing"

	"locklab/harness"
	"locklab/zklock"
	"locklab/zklock/lab"
)

func TestRW(t *testing.T) {
	runParallel(t, []serverTest{
		{"requests of a reader behind writers", rwBehindWriters},
		{"a writer hands over", rwHandOver},
		{"owner and downgrade", rwOwner},
		{"downgrade after the write is lost", rwDowngradeLost},
		{"downgrade while the write ends", rwDowngradeEnds},
		{"name taken before the look", rwTakenBeforeLook},
		{"session changes before the watch", rwSessionChanges},
	})
}

func newRW(t *testing.T, at harness.Endpoint, path string) *zklock.RWMutex {
	t.Helper()
	return dial(t, at, zklock.ClientOptions{}).RWMutex(path, zklock.Options{})
}

// rwHandOver: from a writer's release to the next lock no client sends a request, and from a
// reader's release one.
func rwHandOver(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	c, d, e := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	a, b, r := c.RWMutex(path, zklock.Options{}), d.RWMutex(path, zklock.Options{}), e.RWMutex(path, zklock.Options{})
	head := acquire(t, a.Lock)
	var waits []<-chan result
	for i, f := range []taker{b.Lock, r.RLock, a.Lock} {
		waits = append(waits, behind(t.Context(), f))
		awaitQueue(t, see, path, i+2)
	}
	for i, requests := range []uint64{1, 1, 2} {
		expectWaiting(t, waits[i])
		var l *zklock.Lease
		expectCost(t, harness.Counts{Requests: requests, Notifications: 1}, func() { unlock(t, head); l = awaitLease(t, waits[i]) }, c, d, e)
		expectRisingTokens(t, head, l)
		head = l
	}
	unlock(t, head)
	awaitQueue(t, see, path, 0)
}

// rwBehindWriters compares the rule of a RWMutex for watches with Curator's.
func rwBehindWriters(t *testing.T, at harness.Endpoint) {
	for _, rule := range []struct {
		open func(*zklock.RWMutex) *zklock.RWMutex
		want harness.Counts
	}{
		{func(m *zklock.RWMutex) *zklock.RWMutex { return m }, harness.Counts{Requests: 4, Notifications: 1}},
		{lab.WatchFirst, harness.Counts{Requests: 9, Notifications: 3}},
	} {
		see, path, c := raw(t, at), newPath(), dial(t, at, zklock.ClientOptions{})
		m := rule.open(c.RWMutex(path, zklock.Options{}))
		held := acquire(t, newRW(t, at, path).RLock)
		unlock(t, acquire(t, m.RLock)) // has met another
		unlock(t, held)
		before := counts(c)
		var writers []<-chan result
		for i := range 3 {
			writers = append(writers, behind(t.Context(), newRW(t, at, path).Lock))
			awaitQueue(t, see, path, i+1)
		}
		reader := behind(t.Context(), m.RLock)
		handOver(t, awaitLease(t, writers[0]), writers[1], writers[2], reader)
		expectEqual(t, "a reader behind three writers costs", counts(c).Sub(before), rule.want)
	}
}
