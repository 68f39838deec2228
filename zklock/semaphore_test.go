package zklock_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/zklock"
)

func TestSemaphore(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	atOnce(t, at, []serverTest{
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
