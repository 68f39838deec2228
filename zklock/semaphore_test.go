package zklock_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/zklock"
)

func TestSemaphore(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	atOnce(t, at, []serverTest{
		{"requests", semaphoreRequests},
		{"holders leave in any order", semaphoreOutOfOrder},
		{"the naive rule is rejected", semaphoreNaive},
		{"one waiter wakes", semaphoreWakesOne},
		{"the mark came before the watch", semaphoreMarkFirst},
		{"a holder dies", semaphoreHolderDies},
		{"nodes of v2", semaphoreV2Nodes},
	})
}

var semaphores = []struct {
	name string
	open func(c *zklock.Client, path string, permits int) (lock, try taker)

	alone uint64 // requests
}{
	{"semaphore", func(c *zklock.Client, path string, permits int) (lock, try taker) {
		s := c.Semaphore(path, permits, zklock.Options{})
		return s.Lock, s.TryLock
	}, 3},
	{"v2", func(c *zklock.Client, path string, permits int) (lock, try taker) {
		s := c.SemaphoreV2(path, permits, zklock.Options{})
		return s.Lock, s.TryLock
	}, 6},
}

func semaphoreRequests(t *testing.T, at harness.Endpoint) {
	for _, kind := range semaphores {
		c := dial(t, at, zklock.ClientOptions{})
		lock, _ := kind.open(c, newPath(), 3)
		unlock(t, acquire(t, lock)) // makes the parents
		before := counts(c)
		for range 10 {
			unlock(t, acquire(t, lock))
		}
		if have := counts(c).Sub(before).Requests; have != 10*kind.alone {
			t.Errorf("%s: 10 acquisitions cost %d requests, want %d each", kind.name, have, kind.alone)
		}
	}
}

func semaphoreOutOfOrder(t *testing.T, at harness.Endpoint) {
	for _, kind := range semaphores {
		see, path := raw(t, at), newPath()
		lock := func() taker {
			l, _ := kind.open(dial(t, at, zklock.ClientOptions{}), path, 3)
			return l
		}
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

// semaphoreNaive: the conformance suite detects the rule that loses wake-ups.
func semaphoreNaive(t *testing.T, at harness.Endpoint) {
	s := locktest.Subject{Variant: naiveSemaphore, At: at, Patience: time.Second}
	i := slices.IndexFunc(locktest.Rules, func(r locktest.Rule) bool { return r.Name == "liveness" })
	for range 5 {
		if err := locktest.Rules[i].Check(t.Context(), s); err != nil {
			if !strings.Contains(err.Error(), "no acquisition for 1s") {
				t.Errorf("it fails in another way: %v", err)
			}
			t.Log(err)
			return
		}
	}
	t.Error("it passes")
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
	heard := func() (n []uint64) {
		for _, c := range clients {
			n = append(n, counts(c).Notifications)
		}
		return n
	}
	before := heard()
	unlock(t, b)
	first := awaitLease(t, waiters[0])
	expectWaiting(t, waiters[1])
	after := heard()
	for i, want := range []uint64{1, 1, 0, 0, 0} {
		if after[i]-before[i] != want {
			t.Errorf("waiter %d heard %d events of the release, want %d", i, after[i]-before[i], want)
		}
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
	lock, _ := semaphores[0].open(c, path, 1)
	unlock(t, acquire(t, lock)) // makes the parents
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

func semaphoreHolderDies(t *testing.T, at harness.Endpoint) {
	for _, kind := range semaphores {
		path := newPath()
		c := dial(t, at, zklock.ClientOptions{})
		lock, _ := kind.open(c, path, 2)
		first := acquire(t, lock)
		other, try := kind.open(dial(t, at, zklock.ClientOptions{}), path, 2)
		second := acquire(t, other)
		if _, err := try(t.Context()); !errors.Is(err, zklock.ErrNotAcquired) {
			t.Errorf("%s: TryLock without a permit left = %v, want ErrNotAcquired", kind.name, err)
		}
		next := behind(t.Context(), other)
		expectWaiting(t, next)
		c.Close()
		expectLost(t, first)
		unlock(t, awaitLease(t, next))
		unlock(t, second)
		unlock(t, acquire(t, try))
	}
}

// semaphoreV2Nodes: Curator counts and orders by these names.
func semaphoreV2Nodes(t *testing.T, at harness.Endpoint) {
	see, path := raw(t, at), newPath()
	s := dial(t, at, zklock.ClientOptions{}).SemaphoreV2(path, 1, zklock.Options{})
	l := acquire(t, s.Lock)
	next := behind(t.Context(), s.Lock)
	last := behind(t.Context(), s.Lock)
	leases, locks := awaitQueue(t, see, path+"/leases", 2), awaitQueue(t, see, path+"/locks", 2)
	for _, name := range append(leases, locks...) {
		if len(name) < 3 || name[:3] != "_c_" {
			t.Errorf("ticket %q", name)
		}
	}
	for _, w := range []<-chan result{next, last} {
		unlock(t, l)
		l = awaitLease(t, w)
	}
	unlock(t, l)
}
