package zklock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/zklock"
	"locklab/zklock/lab"
)

func TestRW(t *testing.T) {
	runParallel(t, []serverTest{
		{"requests among readers", rwAmongReaders},
		{"requests of a reader behind writers", rwBehindWriters},
		{"a writer hands over", rwHandOver},
		{"exclusion and tokens", rwExcludes},
		{"readers share", rwShares},
		{"the nearest writer cancels", func(t *testing.T, at harness.Endpoint) { nearestWriterLeaves(t, at, false) }},
		{"the nearest writer dies", func(t *testing.T, at harness.Endpoint) { nearestWriterLeaves(t, at, true) }},
		{"owner", rwOwner},
		{"downgrade", rwDowngrade},
		{"downgrade, a writer next", rwDowngradeHandsOver},
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

// rwExcludes runs readers, writers and owners, some of which give up, by both rules for watches.
func rwExcludes(t *testing.T, at harness.Endpoint) {
	const clients, acquisitions = 4, 40
	for _, open := range watchRules {
		path := newPath()
		var r rush
		var wg sync.WaitGroup
		for range clients {
			m := open(dial(t, at, zklock.ClientOptions{}), path)
			o := m.Owner()
			for _, worker := range []struct {
				lock   taker
				writes bool
				reads  taker // on, nil if it does not
			}{{m.Lock, true, nil}, {m.RLock, false, nil}, {m.RLock, false, nil}, {o.Lock, true, o.RLock}} {
				wg.Go(func() {
					for k := range acquisitions {
						ctx, cancel := t.Context(), func() {}
						if k%4 == 3 {
							ctx, cancel = context.WithTimeout(ctx, rand.N(10*time.Millisecond))
						}
						l, err := worker.lock(ctx)
						cancel()
						if err == nil {
							readOn(t, &r, l, worker.writes, worker.reads)
						} else if !errors.Is(err, context.DeadlineExceeded) {
							t.Error(err)
						}
					}
				})
			}
		}
		wg.Wait()
	}
}

// readOn visits the resource under a lease and unlocks it, after reading on if reads is not nil.
func readOn(t *testing.T, r *rush, l *zklock.Lease, writes bool, reads taker) {
	held := func() bool { return true }
	r.stay(t, l.Token(), writes, held)
	if reads != nil {
		read := acquire(t, reads)
		unlock(t, l)
		r.stay(t, read.Token(), false, held)
		l = read
	}
	unlock(t, l)
}

var watchRules = map[string]func(*zklock.Client, string) *zklock.RWMutex{
	"nearest": func(c *zklock.Client, path string) *zklock.RWMutex { return c.RWMutex(path, zklock.Options{}) },
	"first": func(c *zklock.Client, path string) *zklock.RWMutex {
		return lab.WatchFirst(c.RWMutex(path, zklock.Options{}))
	},
}

func rwShares(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	a, b := newRW(t, at, path), newRW(t, at, path)
	first, second := acquire(t, a.RLock), acquire(t, b.RLock)
	writer := behind(t.Context(), b.Lock)
	awaitQueue(t, see, path, 3)
	late := behind(t.Context(), a.RLock) // no reader passes a writer
	unlock(t, second)
	expectWaiting(t, writer)
	handOver(t, first, writer, late)
}

func nearestWriterLeaves(t *testing.T, at harness.Endpoint, dies bool) {
	see, path := raw(t, at), newPath()
	a := newRW(t, at, path)
	client := dial(t, at, zklock.ClientOptions{})
	b := client.RWMutex(path, zklock.Options{})
	c := newRW(t, at, path)
	held := acquire(t, a.Lock)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	nearest := behind(ctx, b.Lock)
	reader := behind(t.Context(), c.RLock)
	if dies {
		client.Close()
	} else {
		cancel()
	}
	if r := <-nearest; r.err == nil {
		t.Fatal("the writer got in")
	}
	awaitQueue(t, see, path, 2)
	handOver(t, held, reader)
	awaitQueue(t, see, path, 0)
}

func rwAmongReaders(t *testing.T, at harness.Endpoint) {
	c, d := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	m := c.RWMutex(newPath(), zklock.Options{})
	n := d.RWMutex(m.Path(), zklock.Options{})
	held := acquire(t, n.RLock)
	unlock(t, acquire(t, m.RLock)) // has met another
	for range 10 {
		expectCost(t, harness.Counts{Requests: 3}, func() { unlock(t, acquire(t, m.RLock)) }, c, d)
	}
	unlock(t, held)
}

// rwHandOver: from a writer's release to the next lock no client sends a request.
func rwHandOver(t *testing.T, at harness.Endpoint) {
	see, path, c := raw(t, at), newPath(), dial(t, at, zklock.ClientOptions{})
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
	for rule, want := range map[string]harness.Counts{
		"nearest": {Requests: 4, Notifications: 1},
		"first":   {Requests: 9, Notifications: 3},
	} {
		see, path, c := raw(t, at), newPath(), dial(t, at, zklock.ClientOptions{})
		m := watchRules[rule](c, path)
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
		expectEqual(t, "a reader behind three writers costs, by the rule "+rule, counts(c).Sub(before), want)
	}
}
