package zklock_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/faultproxy"
	"locklab/zklock"
)

// TestPlainCost checks the cost of zk-handoff if the ticket ahead has another number.
func TestPlainCost(t *testing.T) {
	t.Parallel()
	tests := []serverTest{
		{"the lock's node is written to", costOfWrites},
		{"create lost behind many", func(t *testing.T, at harness.Endpoint) { costOfLostCreate(t, at, faultproxy.LoseRequest) }},
		{"reply to create lost behind many", func(t *testing.T, at harness.Endpoint) { costOfLostCreate(t, at, faultproxy.LoseReply) }},
	}
	for _, k := range kinds {
		if slices.Contains([]string{"mutex", "owner", "writer", "semaphore"}, k.name) {
			tests = append(tests, serverTest{"many waiters of a client, " + k.name, func(t *testing.T, at harness.Endpoint) {
				costOfManyWaiters(t, at, func(c *zklock.Client, path string) taker { return k.open(c, path, 2, zklock.Options{}).Lock })
			}})
		}
	}
	atOnce(t, endpoint(t), tests)
}

func costOfWrites(t *testing.T, at harness.Endpoint) {
	see, c := raw(t, at), dial(t, at, zklock.ClientOptions{})
	m := c.Mutex(newPath(), zklock.Options{})
	for range 3 {
		unlock(t, lock(t, m))
	}
	for range 3 {
		setData(t, see, m.Path(), []byte("config"))
		for _, want := range []uint64{3, 2, 2} {
			if got := cost(func() { unlock(t, lock(t, m)) }, c); got.Requests != want {
				t.Errorf("an acquisition costs %d requests, want %d", got.Requests, want)
			}
		}
	}
	if data, stat, err := see.Get(m.Path()); err != nil || string(data) != "config" || stat.Version != 3 {
		t.Errorf("the node has %q, %+v, %v", data, stat, err)
	}
}

// costOfLostCreate: a search for a ticket costs no request per waiter ahead, except later ones.
func costOfLostCreate(t *testing.T, at harness.Endpoint, do faultproxy.Action) {
	const ahead, late = 40, 3
	p, see, path := newProxy(t, at), raw(t, at), newPath()
	c := dial(t, p.at, zklock.ClientOptions{})
	unlock(t, lock(t, dial(t, at, zklock.ClientOptions{}).Mutex(path, zklock.Options{})))
	come := func(n int) {
		for range n {
			createNode(t, see, path+"/lock-", []byte(zklock.Marker), zk.FlagEphemeralSequential)
		}
	}
	come(ahead)
	unlock(t, lock(t, c.Mutex(newPath(), zklock.Options{}))) // it has an identity, and has seen a zxid
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before := p.Seen("getData")
	lost := p.Inject(faultproxy.Fault{Do: do, Match: faultproxy.Below(path, "create")})
	p.Refuse(true)
	waits := behind(ctx, c.Mutex(path, zklock.Options{}).Lock)
	<-lost.Done()
	come(late)
	p.Refuse(false)
	eventually(t, "it watches the ticket ahead", func() bool { return p.Seen("getData") > before && p.Seen("getChildren2") > 1 })
	awaitQueue(t, see, path, ahead+late+1)
	awaitQuiet(t, aWhile/4, c)
	cancel()
	<-waits
	if got := p.Seen("getData") - before; got > late+2 {
		t.Errorf("it reads %d tickets, want at most %d: those that came meanwhile, and two", got, late+2)
	}
	awaitQueue(t, see, path, ahead+late)
}

func costOfManyWaiters(t *testing.T, at harness.Endpoint, open func(*zklock.Client, string) taker) {
	const waiters = 60
	p, see, path := newProxy(t, at), raw(t, at), newPath()
	c := dial(t, p.at, zklock.ClientOptions{})
	unlock(t, lock(t, c.Mutex(newPath(), zklock.Options{}))) // it has an identity
	var ahead []<-chan result
	for range 2 { // the permits of a semaphore
		ahead = append(ahead, behind(t.Context(), open(dial(t, at, zklock.ClientOptions{}), path)))
	}
	p.Delay(faultproxy.Reply, 100*time.Millisecond)
	before := p.Seen("getChildren2")
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range waiters {
		wg.Go(func() { open(c, path)(ctx) })
	}
	awaitQueue(t, see, path, waiters+2)
	awaitQuiet(t, 2*aWhile, c)
	if got := p.Seen("getChildren2") - before; got > waiters/2 {
		t.Errorf("%d waiters list %d times", waiters, got)
	}
	cancel()
	p.Delay(faultproxy.Reply, 0)
	wg.Wait()
	for _, got := range ahead {
		unlock(t, awaitLease(t, got))
	}
}
