package redislock_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/leaktest"
	"locklab/redislock"
)

// TestSilence: dead connections do not use up a lease while new ones work.
func TestSilence(t *testing.T) {
	at := runParallel(t)
	rows := map[string]func(*testing.T){
		"nothing is silent": func(t *testing.T) { renewalCost(t, at) },
	}
	for _, prompt := range []bool{true, false} {
		tweak := func(o *redis.Options) { o.ContextTimeoutEnabled, o.MaxRetries, o.PoolSize = prompt, 3, 20 }
		for _, lease := range []time.Duration{2 * time.Second, 6 * time.Second, 30 * time.Second} {
			rows[fmt.Sprintf("renewal/prompt=%t/%v", prompt, lease)] = func(t *testing.T) { silentPool(t, at, lease, tweak) }
		}
		rows[fmt.Sprintf("grant/prompt=%t", prompt)] = func(t *testing.T) { silentGrant(t, at, tweak) }
		for kind, open := range kinds {
			if kind != "Redlock" { // for a Redlock a silent server refuses
				rows[fmt.Sprintf("lock and unlock/%s/prompt=%t", kind, prompt)] = func(t *testing.T) { silentLock(t, at, open, tweak) }
			}
		}
	}
	var all sync.WaitGroup
	for name, run := range rows { // they mostly wait
		all.Go(func() {
			t.Run(name, func(t *testing.T) {
				leaktest.Own(t)
				run(t)
			})
		})
	}
	all.Wait()
}

// silentLock: all pooled connections are dead when the lock is taken, and when it is released.
func silentLock(t *testing.T, at harness.Endpoint, open func(*redislock.Client, string, redislock.Options) redislock.Lockable, tweak func(*redis.Options)) {
	p := newPeer(t, at, tweak)
	fillPool(t, p)
	m := open(p.Client, newKey(), redislock.Options{Wait: 8 * time.Second})
	p.link.silence()
	l := lock(t, m)
	// An owner sends one request at a time: one that ignores its context delays the second.
	if _, counts := m.(*redislock.Reentrant); counts && !p.link.Options().ContextTimeoutEnabled {
		if err := l.Unlock(t.Context()); !errors.Is(err, redislock.ErrUnanswered) {
			t.Errorf("Unlock = %v, want that the server has not answered", err)
		}
		return
	}
	unlock(t, l)
}

func silentPool(t *testing.T, at harness.Endpoint, lease time.Duration, tweak func(*redis.Options)) {
	if testing.Short() && lease > 10*time.Second {
		t.Skip("make test-all runs it")
	}
	p := newPeer(t, at, tweak)
	fillPool(t, p)
	l := lock(t, p.Mutex(newKey(), redislock.Options{TTL: lease}))
	p.link.silence()
	renewed(t, l)
	unlock(t, l) // probably by a dead connection
}

func fillPool(t *testing.T, p *peer) {
	const n = 12
	var all sync.WaitGroup
	for range n {
		all.Go(func() { p.BLPop(t.Context(), 300*time.Millisecond, "nothing") })
	}
	all.Wait()
	if open := len(p.link.open()); open < n {
		t.Fatalf("%d connections are open, want %d", open, n)
	}
}

func renewed(t *testing.T, l *redislock.Lease) {
	t.Helper()
	for first, _ := l.Deadline(); ; time.Sleep(5 * time.Millisecond) {
		if until, _ := l.Deadline(); until.After(first) {
			t.Logf("%v of the lease were left", time.Until(first).Round(time.Millisecond))
			return
		}
		if err := l.Err(); err != nil {
			t.Fatal("lost, though new connections work:", err)
		}
	}
}

// silentGrant: the pooled connections are dead when the lock is handed over, with a short grant.
func silentGrant(t *testing.T, at harness.Endpoint, tweak func(*redis.Options)) {
	watch, h, p := dial(t, at), newPeer(t, at), newPeer(t, at, tweak)
	o, key := redislock.Options{HandoffTimeout: 2 * time.Second}, newKey()
	held := lock(t, h.Mutex(key, o))
	w := enqueue(t, watch, p.Mutex(key, o))
	p.link.silence()
	unlock(t, held)
	l, _ := w.lease(t)
	renewed(t, l)
	unlock(t, l)
}

func renewalCost(t *testing.T, at harness.Endpoint) {
	p := newPeer(t, at)
	key := newKey()
	l := lock(t, p.Mutex(key, redislock.Options{TTL: 6 * time.Second}))
	before, dialled := p.counts(), p.link.dialled.Load()
	for range 2 {
		renewed(t, l)
	}
	if cost := p.counts() - before; cost != 2 && cost != 3 { // the server may not have the script
		t.Errorf("two renewals cost %d requests", cost)
	}
	if n := p.link.dialled.Load() - dialled; n > 0 {
		t.Errorf("two renewals opened %d connections", n)
	}
	unlock(t, l)
}
