package zklock_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/zklock"
)

func TestMulti(t *testing.T) {
	runParallel(t, []serverTest{
		{"order", multiOrder},
		{"beside single mutexes", multiBesideSingle},
		{"partial failure", multiPartial},
		{"one is lost while waiting for the next", multiLosesWhileWaiting},
	})
}

func multiOrder(t *testing.T, at harness.Endpoint) {
	c := dial(t, at, zklock.ClientOptions{})
	for _, test := range []struct {
		o     zklock.MultiOptions
		paths []string
		want  []string
	}{
		{zklock.MultiOptions{}, []string{"/c", "/a", "/b", "/a"}, []string{"/a", "/b", "/c"}},
		{zklock.MultiOptions{Ordered: true}, []string{"/c", "/a", "/c", "/b"}, []string{"/c", "/a", "/b"}},
	} {
		given := slices.Clone(test.paths)
		if have := c.Multi(test.paths, test.o).Paths(); !slices.Equal(have, test.want) {
			t.Errorf("Paths = %q, want %q", have, test.want)
		}
		if !slices.Equal(test.paths, given) {
			t.Error("the caller's paths are sorted")
		}
	}
	expectError(t, lockError(t.Context(), c.Multi(nil, zklock.MultiOptions{}).Lock), zklock.ErrNoPath, zklock.ErrUsage)
}

func multiBesideSingle(t *testing.T, at harness.Endpoint) {
	path := newPath()
	c, d := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	m := c.Multi([]string{path + "/a", path + "/b"}, zklock.MultiOptions{})
	b := d.Mutex(path+"/b", zklock.Options{})
	l := acquire(t, m.Lock)
	first, second := l.TokenOf(path+"/a"), l.TokenOf(path+"/b")
	if l.Token() != first || first == 0 || second <= first || l.TokenOf("/other") != 0 {
		t.Errorf("tokens %d, %d and %d", l.Token(), first, second)
	}
	expectExcluded(t, "a mutex of the second path", b.Lock)
	unlock(t, l)
	single := lock(t, b)
	if single.Token() <= second {
		t.Errorf("token %d after %d", single.Token(), second)
	}
	all := behind(t.Context(), m.Lock)
	expectWaiting(t, all)
	expectExcluded(t, "a mutex of the first path", d.Mutex(path+"/a", zklock.Options{}).Lock) // held meanwhile
	handOver(t, single, all)
}

func multiPartial(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	c, d := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
	m := c.Multi([]string{path + "/a", path + "/b", path + "/c"}, zklock.MultiOptions{})
	last := lock(t, d.Mutex(path+"/c", zklock.Options{}))
	expectError(t, lockError(t.Context(), m.TryLock), zklock.ErrNotAcquired)
	ctx, cancel := context.WithTimeout(t.Context(), aWhile)
	defer cancel()
	expectError(t, lockError(ctx, m.Lock), context.DeadlineExceeded)
	for _, name := range []string{"/a", "/b"} {
		awaitQueue(t, see, path+name, 0)
	}
	awaitQueue(t, see, path+"/c", 1)
	unlock(t, last)
	if l, err := m.TryLock(t.Context()); err != nil {
		t.Error(err)
	} else {
		unlock(t, l)
	}
}

// multiLosesWhileWaiting: a mutex lost while another is awaited is taken again.
func multiLosesWhileWaiting(t *testing.T, at harness.Endpoint) {
	p, see, path := newProxy(t, at), raw(t, at), newPath()
	m := dial(t, p.at, zklock.ClientOptions{SessionTimeout: time.Second}).Multi([]string{path + "/a", path + "/b"}, zklock.MultiOptions{})
	d := dial(t, at, zklock.ClientOptions{})
	second := lock(t, d.Mutex(path+"/b", zklock.Options{}))
	all := behind(t.Context(), m.Lock)
	before := awaitQueue(t, see, path+"/a", 1)
	expire(t, see, p, path+"/a")
	eventually(t, "the first is taken again", func() bool {
		now := queue(t, see, path+"/a")
		return len(now) == 1 && now[0] != before[0]
	})
	handOver(t, second, all)
	for _, name := range []string{"/a", "/b"} {
		awaitQueue(t, see, path+name, 0)
	}
}

func TestSemaphore(t *testing.T) {
	runParallel(t, []serverTest{
		{"holders leave in any order", semaphoreOutOfOrder},
		{"one waiter wakes", semaphoreWakesOne},
		{"the mark came before the watch", semaphoreMarkFirst},
	})
}

func semaphoreOutOfOrder(t *testing.T, at harness.Endpoint) {
	for _, k := range kinds {
		if !k.counts {
			continue
		}
		see, path := raw(t, at), newPath()
		lock := func() taker { return k.open(dial(t, at, zklock.ClientOptions{}), path, 3, zklock.Options{}).Lock }
		held := []*zklock.Lease{acquire(t, lock()), acquire(t, lock()), acquire(t, lock())}
		var waiters []<-chan result
		for range 5 {
			waiters = append(waiters, behind(t.Context(), lock()))
		}
		for _, k := range []int{1, 2, 0, 2, 1} {
			unlock(t, held[k])
			held[k] = awaitLease(t, waiters[0])
			if waiters = waiters[1:]; len(waiters) > 0 {
				expectWaiting(t, waiters[0])
			}
		}
		for _, l := range held {
			unlock(t, l)
		}
		(&stage{at: at, see: see, path: path}).deserted(t)
	}
}

func semaphoreWakesOne(t *testing.T, at harness.Endpoint) {
	path := newPath()
	holder := dial(t, at, zklock.ClientOptions{}).Semaphore(path, 2, zklock.Options{})
	a, b := acquire(t, holder.Lock), acquire(t, holder.Lock)
	var clients []*zklock.Client
	var waiters []<-chan result
	for range 5 {
		c := dial(t, at, zklock.ClientOptions{})
		clients = append(clients, c)
		waiters = append(waiters, behind(t.Context(), c.Semaphore(path, 2, zklock.Options{}).Lock))
	}
	var before []harness.Counts
	for _, c := range clients {
		before = append(before, counts(c))
	}
	unlock(t, b)
	first := awaitLease(t, waiters[0])
	expectWaiting(t, waiters[1])
	for i, want := range []uint64{1, 1, 0, 0, 0} {
		expectEqual(t, fmt.Sprintf("events of the release for waiter %d", i), counts(clients[i]).Sub(before[i]).Notifications, want)
	}
	unlock(t, a)
	unlock(t, first)
	for _, w := range waiters[1:] {
		unlock(t, awaitLease(t, w))
	}
}

// semaphoreMarkFirst: a waiter ahead is marked between the list and the watch on it.
func semaphoreMarkFirst(t *testing.T, at harness.Endpoint) {
	c, see, path := dial(t, at, zklock.ClientOptions{}), raw(t, at), newPath()
	unlock(t, acquire(t, c.Semaphore(path, 1, zklock.Options{}).Lock)) // makes the parents
	for _, test := range []struct {
		data []byte
		want bool
	}{{nil, true}, {zklock.HeldMark, false}, {[]byte("something else"), true}} {
		node := path + "/" + string(test.data) + "x"
		createNode(t, see, node, test.data, zk.FlagEphemeral)
		if have, err := zklock.WatchesWaiter(c, node); have != test.want || err != nil {
			t.Errorf("a ticket with %q is waited for: %t, %v, want %t", test.data, have, err, test.want)
		}
	}
	if have, err := zklock.WatchesWaiter(c, path+"/gone"); have || err != nil {
		t.Errorf("a ticket that is gone is waited for: %t, %v", have, err)
	}
}
