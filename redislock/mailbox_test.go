package redislock_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	locks "locklab/lock"
	"locklab/redislock"
)

func TestMailboxes(t *testing.T) {
	at := runParallel(t)
	runConcurrently(t, 4, map[string]func(*testing.T){
		"connections close":                    func(t *testing.T) { mailboxConnections(t, at) },
		"another name while one is waited for": func(t *testing.T) { mailboxAnother(t, at) },
		"many notifications for another":       func(t *testing.T) { mailboxNeverEmpty(t, at) },
		"reader cut off":                       func(t *testing.T) { mailboxReplaced(t, at) },
	})
}

// mailboxConnections: many waiters share few connections, which close after the last one.
func mailboxConnections(t *testing.T, at harness.Endpoint) {
	var gone []*peer
	for _, test := range []struct {
		kind                 string
		names, waiters, most int // waiters of each name
	}{{"Mutex", 300, 1, 20}, {"Reentrant", 1, 50, 2}, {"PubSubMutex", 1, 50, 2}} { // the first PING's connection is kept
		p, h := newPeer(t, at), newClient(t, dialServer(t, at))
		var all []heldUp
		for range test.names {
			key := newKey()
			held := lockNow(t, kinds[test.kind](h, key, redislock.Options{}))
			for range test.waiters {
				all = append(all, heldUp{held, beginLock(t, kinds[test.kind](p.Client, key, redislock.Options{}))})
				held = nil
			}
		}
		waitUntil(t, "all wait, and are listened for", func() bool {
			if test.kind != "Mutex" {
				return p.mail.dialled.Load() > 1
			}
			return redislock.MailOf(p.Client).Heard == test.names
		})
		if got := len(p.mail.open()); got > test.most {
			t.Errorf("%s: %d connections listen for %d locks, want at most %d", test.kind, got, test.names, test.most)
		}
		var served sync.WaitGroup
		for _, w := range all {
			if w.held != nil {
				unlockLease(t, w.held)
			}
			served.Go(func() {
				if l := <-w.got; l != nil {
					expectNoError(t, l.Unlock(t.Context()))
				}
			})
		}
		served.Wait()
		gone = append(gone, p)
	}
	for _, p := range gone {
		waitUntil(t, "at most one connection is left", func() bool { return len(p.mail.open()) <= 1 })
		if left := redislock.MailOf(p.Client).Boxes; left > 0 {
			t.Errorf("the client still knows %d locks", left)
		}
	}
}

// mailboxAnother: a waiter for another name costs a stopWord, its time to live and a pop.
func mailboxAnother(t *testing.T, at harness.Endpoint) {
	watch, h, p := dialServer(t, at), newPeer(t, at), newPeer(t, at)
	requireNoError(t, redislock.LoadQueueScripts(t.Context(), watch.client))
	const n = 5
	before := p.counts()
	var leases []*redislock.Lease
	var waiters []<-chan *redislock.Lease
	var woken [n][]locks.Wake
	for i := range n {
		key := newKey()
		leases = append(leases, lockNow(t, h.Mutex(key, redislock.Options{})))
		trace := &redislock.Trace{Woken: func(w locks.WokenInfo) { woken[i] = append(woken[i], w.Why) }}
		waiters = append(waiters, beginLock(t, traced{p.Mutex(key, redislock.Options{}), trace}))
		waitUntil(t, "it is listened for", func() bool { return redislock.MailOf(p.Client).Heard == i+1 })
		time.Sleep(20 * time.Millisecond) // most often the pop has begun
	}
	// Each asks; the first begins a pop; every other costs three requests.
	if cost := p.counts() - before; cost > n+1+3*(n-1) {
		t.Errorf("to wait for %d names cost %d requests", n, cost)
	} else {
		t.Logf("to wait for %d names cost %d requests", n, cost)
	}
	for i, l := range slices.Backward(leases) {
		unlockLease(t, l)
		next := takeLease(t, waiters[i])
		if !slices.Equal(woken[i], []locks.Wake{locks.WakeGrant}) {
			t.Errorf("waiter %d was woken by %q, want one grant", i, woken[i])
		}
		unlockLease(t, next)
	}
	if open := len(p.mail.open()); open > 1 {
		t.Errorf("%d connections listen, want 1", open)
	}
}

type traced struct {
	redislock.Lockable
	trace *redislock.Trace
}

func (m traced) Lock(ctx context.Context) (*redislock.Lease, error) {
	return m.Lockable.Lock(redislock.WithTrace(ctx, m.trace))
}

func mailboxNeverEmpty(t *testing.T, at harness.Endpoint) {
	watch, h, p := dialServer(t, at), newPeer(t, at), newPeer(t, at)
	a, b := newKey(), newKey()
	first := waitBehind(t, watch, h, p, a)
	waitUntil(t, "it is listened for", func() bool { return redislock.MailOf(p.Client).Heard == 1 })
	second := waitBehind(t, watch, h, p, b)
	waitUntil(t, "both are listened for", func() bool { return redislock.MailOf(p.Client).Heard == 2 })
	defer first.handOver(t)
	full := a + ":~mail:" + mailboxOf(t, watch, a)
	junk := slices.Repeat([]any{"of no meaning"}, 50_000)
	requireNoError(t, watch.client.WithTimeout(time.Minute).RPush(t.Context(), full, junk...).Err()) // a long write
	defer watch.client.Del(context.WithoutCancel(t.Context()), full)
	unlockLease(t, second.held)
	next := takeLease(t, second.got)
	if left := watch.client.LLen(t.Context(), full).Val(); left == 0 {
		t.Error("another mailbox was emptied first")
	} else {
		t.Logf("%d words were before it in the other mailbox", int64(len(junk))-left)
	}
	unlockLease(t, next)
}

// mailboxReplaced: if the listening connection is dead, a new waiter uses another.
func mailboxReplaced(t *testing.T, at harness.Endpoint) {
	watch, h, p := dialServer(t, at), newPeer(t, at), newPeer(t, at)
	a, b := newKey(), newKey()
	first := waitBehind(t, watch, h, p, a)
	waitUntil(t, "the mailbox is listened to", func() bool { return len(p.mail.open()) == 1 })
	p.mail.silence()
	second := waitBehind(t, watch, h, p, b)
	waitUntil(t, "another connection listens", func() bool { return len(p.mail.open()) == 2 })
	released := time.Now()
	second.handOver(t)
	requireBetween(t, "the handover", time.Since(released), 0, 5*time.Second)
	first.handOver(t)
}

type heldUp struct {
	held *redislock.Lease
	got  <-chan *redislock.Lease
}

func (w heldUp) handOver(t *testing.T) {
	t.Helper()
	unlockLease(t, w.held)
	unlockLease(t, takeLease(t, w.got))
}

func waitBehind(t *testing.T, watch *link, h, p *peer, key string) heldUp {
	t.Helper()
	held := lockNow(t, h.Mutex(key, redislock.Options{}))
	got := beginLock(t, p.Mutex(key, redislock.Options{}))
	waitUntil(t, fmt.Sprint("it waits for ", key), func() bool { return countWaiting(t, watch, key) == 1 })
	return heldUp{held, got}
}

// clusterNode: a client of one node of a cluster waits for locks in different slots.
func clusterNode(t *testing.T, all []running) {
	cluster := findNamed(all, "cluster").connect(t).(*redis.ClusterClient)
	dialNode := func(key string) *redis.Client {
		c, err := cluster.MasterForKey(t.Context(), key)
		requireNoError(t, err)
		rdb := redis.NewClient(&redis.Options{Addr: c.Options().Addr})
		t.Cleanup(func() { rdb.Close() })
		return rdb
	}
	first := newName()
	node := dialNode(first)
	names := []string{first}
	for len(names) < 5 {
		if name := newName(); dialNode(name).Options().Addr == node.Options().Addr {
			names = append(names, name)
		}
	}
	h, c := redislock.NewClient(node, redislock.ClientOptions{}), redislock.NewClient(node, redislock.ClientOptions{})
	defer h.Close()
	defer c.Close()
	var waiters []heldUp
	for i, name := range names {
		waiters = append(waiters, heldUp{lockNow(t, h.Mutex(name, redislock.Options{})), beginLock(t, c.Mutex(name, redislock.Options{}))})
		waitUntil(t, "it is listened for", func() bool { return redislock.MailOf(c).Heard == i+1 })
	}
	waitUntil(t, "each has a connection", func() bool { return redislock.MailOf(c).Readers == len(names) })
	for _, w := range waiters {
		released := time.Now()
		w.handOver(t)
		requireBetween(t, "the handover", time.Since(released), 0, 5*time.Second)
	}
}
