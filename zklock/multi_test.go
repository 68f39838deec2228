package zklock_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/faultproxy"
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
	c := dialServer(t, at, zklock.ClientOptions{})
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
	c, d := dialServer(t, at, zklock.ClientOptions{}), dialServer(t, at, zklock.ClientOptions{})
	m := c.Multi([]string{path + "/a", path + "/b"}, zklock.MultiOptions{})
	b := d.Mutex(path+"/b", zklock.Options{})
	l := acquireLock(t, m.Lock)
	first, second := l.TokenOf(path+"/a"), l.TokenOf(path+"/b")
	if l.Token() != first || first == 0 || second <= first || l.TokenOf("/other") != 0 {
		t.Errorf("tokens %d, %d and %d", l.Token(), first, second)
	}
	expectExcluded(t, "a mutex of the second path", b.Lock)
	unlockLease(t, l)
	single := lockNow(t, b)
	if single.Token() <= second {
		t.Errorf("token %d after %d", single.Token(), second)
	}
	all := lockBehind(t.Context(), m.Lock)
	expectWaiting(t, all)
	expectExcluded(t, "a mutex of the first path", d.Mutex(path+"/a", zklock.Options{}).Lock) // held meanwhile
	handOver(t, single, all)
}

func multiPartial(t *testing.T, at harness.Endpoint) {
	see, path := dialRaw(t, at), newPath()
	c := dialServer(t, at, zklock.ClientOptions{})
	m := c.Multi([]string{path + "/a", path + "/b", path + "/c"}, zklock.MultiOptions{})
	last := lockNow(t, newMutex(t, at, path+"/c"))
	expectError(t, lockError(t.Context(), m.TryLock), zklock.ErrNotAcquired)
	expectExcluded(t, "the multi", m.Lock)
	for name, n := range map[string]int{"/a": 0, "/b": 0, "/c": 1} {
		awaitQueue(t, see, path+name, n)
	}
	unlockLease(t, last)
	l := acquireLock(t, m.TryLock)
	zklock.Expire(c)
	expectError(t, l.Err(), zklock.ErrSessionExpired) // at once
}

// multiLosesWhileWaiting: a mutex lost while another is awaited is taken again.
func multiLosesWhileWaiting(t *testing.T, at harness.Endpoint) {
	p, see, path := newProxy(t, at), dialRaw(t, at), newPath()
	c, d := dialServer(t, p.at, zklock.ClientOptions{SessionTimeout: time.Second}), dialServer(t, at, zklock.ClientOptions{})
	m := c.Multi([]string{path + "/a", path + "/b"}, zklock.MultiOptions{})
	second := lockNow(t, d.Mutex(path+"/b", zklock.Options{}))
	all := lockBehind(t.Context(), m.Lock)
	before := awaitQueue(t, see, path+"/a", 1)
	changeSession(t, p, c, func() bool { return len(listQueue(t, see, path+"/a")) == 0 })
	waitUntil(t, "the first is taken again", func() bool {
		now := listQueue(t, see, path+"/a")
		return len(now) == 1 && now[0] != before[0]
	})
	handOver(t, second, all)
	awaitQueue(t, see, path+"/a", 0)
	awaitQueue(t, see, path+"/b", 0)
}

func TestSemaphore(t *testing.T) {
	runParallel(t, []serverTest{
		{"holders leave in any order", semaphoreOutOfOrder},
		{"one waiter wakes", semaphoreWakesOne},
		{"a holder's mark is lost", semaphoreMarkLost},
		{"fewer permits than the holders", semaphoreFewerPermits},
		{"list that is not to be read", semaphoreUnreadable},
	})
}

// semaphoreUnreadable: a waiter that may not read the list gets no event, and does not wait forever.
func semaphoreUnreadable(t *testing.T, at harness.Endpoint) {
	c, s := dialServer(t, at, zklock.ClientOptions{SessionTimeout: time.Second}), &stage{see: dialRaw(t, at)}
	for _, k := range slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return !k.counts }) {
		s.path = newPath()
		held, next := acquireLock(t, k.lock(c, s.path).Lock), lockBehind(contextWithin(t, patience), k.lock(c, s.path).Lock)
		nodes := s.nodes(t)
		s.forbid(t, zk.PermRead)
		held.Unlock(t.Context()) // in a second a busy machine may lose the lease
		expectError(t, (<-next).err, zklock.ErrNoAuth)
		for _, n := range nodes {
			setACL(t, s.see, n.path, zk.WorldACL(zk.PermAll))
		}
	}
}

func semaphoreOutOfOrder(t *testing.T, at harness.Endpoint) {
	for _, k := range kinds {
		if !k.counts {
			continue
		}
		s := &stage{at: at, see: dialRaw(t, at), path: newPath()}
		lock := func() taker {
			return k.open(dialServer(t, at, zklock.ClientOptions{}), s.path, 3, zklock.Options{}).Lock
		}
		held := []*zklock.Lease{acquireLock(t, lock()), acquireLock(t, lock()), acquireLock(t, lock())}
		var waiters []<-chan result
		for range 5 {
			waiters = append(waiters, lockBehind(t.Context(), lock()))
		}
		if k.name == "semaphore v2" { // without its ticket, the first waiter finds no more than the holders
			deleteNode(t, s.see, s.path+"/leases/"+awaitQueue(t, s.see, s.path+"/leases", 4)[3])
			expectWaiting(t, waiters[0])
		}
		for _, k := range []int{1, 2, 0, 2, 1} {
			unlockLease(t, held[k])
			held[k] = awaitLease(t, waiters[0])
			if waiters = waiters[1:]; len(waiters) > 0 {
				expectWaiting(t, waiters[0])
			}
		}
		for _, l := range held {
			unlockLease(t, l)
		}
		s.deserted(t)
	}
}

func semaphoreWakesOne(t *testing.T, at harness.Endpoint) {
	path := newPath()
	holder := dialServer(t, at, zklock.ClientOptions{}).Semaphore(path, 2, zklock.Options{})
	a, b := acquireLock(t, holder.Lock), acquireLock(t, holder.Lock)
	var clients [5]*zklock.Client
	var waiters [5]<-chan result
	for i := range clients {
		clients[i] = dialServer(t, at, zklock.ClientOptions{})
		waiters[i] = lockBehind(t.Context(), clients[i].Semaphore(path, 2, zklock.Options{}).Lock)
	}
	var before [5]harness.Counts
	for i, c := range clients {
		before[i] = counts(c)
	}
	unlockLease(t, b)
	next := awaitLease(t, waiters[0])
	expectWaiting(t, waiters[1])
	for i, want := range []uint64{1, 1, 0, 0, 0} {
		expectEqual(t, fmt.Sprintf("events of the release for waiter %d", i), counts(clients[i]).Sub(before[i]).Notifications, want)
	}
	unlockLease(t, a)
	unlockLease(t, next)
	for _, w := range waiters[1:] {
		unlockLease(t, awaitLease(t, w))
	}
}

// semaphoreMarkLost: a holder that could not mark its ticket does so later, and the waiter behind it
// gets the permit of another.
func semaphoreMarkLost(t *testing.T, at harness.Endpoint) {
	p, path := newProxy(t, at), newPath()
	lock := func(at harness.Endpoint) taker {
		return dialServer(t, at, zklock.ClientOptions{}).Semaphore(path, 2, zklock.Options{}).Lock
	}
	a, b := acquireLock(t, lock(at)), acquireLock(t, lock(at))
	third, fourth := lockBehind(t.Context(), lock(p.at)), lockBehind(t.Context(), lock(at))
	p.Inject(faultproxy.Fault{Do: faultproxy.LoseRequest, Match: faultproxy.Op("setData")})
	unlockLease(t, a)
	l := awaitLease(t, third)
	unlockLease(t, b)
	unlockLease(t, awaitLease(t, fourth))
	unlockLease(t, l)
}

// semaphoreFewerPermits: a waiter that counts fewer permits than the holders waits until enough
// of them have left, not for the one ahead.
func semaphoreFewerPermits(t *testing.T, at harness.Endpoint) {
	c, see, path := dialServer(t, at, zklock.ClientOptions{}), dialRaw(t, at), newPath()
	m := c.Semaphore(path, 2, zklock.Options{})
	unlockLease(t, acquireLock(t, m.Lock)) // makes the parents
	var holders []string
	for range 4 {
		holders = append(holders, createNode(t, see, path+"/permit-", nil, zk.FlagEphemeralSequential))
		setData(t, see, holders[len(holders)-1], nil)
	}
	ctx, cancel := context.WithCancel(t.Context())
	given, waits := beginLock(ctx, m.Lock), beginLock(t.Context(), m.Lock)
	awaitQueue(t, see, path, 6)
	expectWaiting(t, given)
	cancel()
	expectError(t, (<-given).err, context.Canceled)
	for _, node := range holders[:3] {
		expectWaiting(t, waits)
		deleteNode(t, see, node)
	}
	unlockLease(t, awaitLease(t, waits))
	if n := counts(c).Requests; n > 60 {
		t.Errorf("the client sent %d requests, want no polling", n)
	}
}
