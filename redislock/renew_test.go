package redislock_test

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/redislock"
)

// TestSilence: connections that are dead, without either end knowing, do not use up a
// lease while new ones work, whatever the settings of the client library are.
func TestSilence(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	leaktest.All(t)
	t.Run("all", func(t *testing.T) {
		for _, prompt := range []bool{true, false} {
			tweak := func(o *redis.Options) { o.ContextTimeoutEnabled, o.MaxRetries = prompt, 3 }
			name := fmt.Sprintf("prompt=%t", prompt)
			for _, lease := range []time.Duration{2 * time.Second, 6 * time.Second, 30 * time.Second} {
				t.Run(fmt.Sprint("renewal/", name, "/", lease), func(t *testing.T) {
					t.Parallel()
					silentPool(t, at, lease, tweak)
				})
			}
			t.Run("grant/"+name, func(t *testing.T) {
				t.Parallel()
				silentGrant(t, at, tweak)
			})
		}
		t.Run("none", func(t *testing.T) {
			t.Parallel()
			renewalCost(t, at)
		})
	})
}

// silentPool: all connections that the client library keeps are dead.
func silentPool(t *testing.T, at harness.Endpoint, lease time.Duration, tweak func(*redis.Options)) {
	p := newPeer(t, at, tweak, func(o *redis.Options) { o.PoolSize = 20 })
	var all sync.WaitGroup
	for range 12 { // as many as were busy at one time
		all.Go(func() { p.BLPop(t.Context(), 100*time.Millisecond, "nothing") })
	}
	all.Wait()
	if open := len(p.link.open()); open < 12 {
		t.Fatalf("%d connections are open, want 12", open)
	}
	l := lock(t, p.Mutex(newKey(), redislock.Options{Lease: lease}))
	p.link.silence()
	renewed(t, l)
	_ = l.Unlock(t.Context()) // by one of those that are dead, as likely as not
}

// renewed waits until l has more time.
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

// silentGrant: they are when the lock is handed over, which grants it for a moment.
func silentGrant(t *testing.T, at harness.Endpoint, tweak func(*redis.Options)) {
	watch, h, p := dial(t, at), newPeer(t, at), newPeer(t, at, tweak)
	o, key := redislock.Options{Grant: 2 * time.Second}, newKey()
	held := lock(t, h.Mutex(key, o))
	w := enqueue(t, watch, p.Mutex(key, o))
	p.link.silence()
	unlock(t, held)
	l, _ := w.lease(t)
	renewed(t, l)
	_ = l.Unlock(t.Context())
}

// renewalCost: while every connection works nothing is sent twice, and none is opened.
func renewalCost(t *testing.T, at harness.Endpoint) {
	p := newPeer(t, at)
	key := newKey()
	l := lock(t, p.Mutex(key, redislock.Options{Lease: 6 * time.Second}))
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

// TestNodeHangs: a node of a cluster that hangs costs no lock of the others, whether a
// lock is kept there or not, and whatever the settings of the client library are.
func TestNodeHangs(t *testing.T) {
	const lease = 4 * time.Second
	r := startAll(t, deployments[2])[0]
	hung := r.PIDs()[2]
	for _, addr := range r.Endpoint().Addrs[0] { // so that the failure of a node stays its own
		node := redis.NewClient(&redis.Options{Addr: addr})
		err := errors.Join(node.ConfigSet(t.Context(), "cluster-require-full-coverage", "no").Err(), node.ConfigSet(t.Context(), "cluster-node-timeout", "15000").Err())
		if err := errors.Join(err, node.Close()); err != nil {
			t.Fatal(err)
		}
	}
	leaktest.All(t)
	type kept struct {
		*redislock.Lease
		what string
		well bool // its node
	}
	var leases []kept
	for _, prompt := range []bool{true, false} {
		for _, all := range []bool{true, false} {
			r.options.ContextTimeoutEnabled = prompt
			rdb := r.connect(t)
			c := redislock.NewClient(rdb, redislock.ClientOptions{})
			defer c.Close()
			for node := range 3 {
				if node == 2 && !all {
					continue
				}
				name := newName()
				for int(rdb.(*redis.ClusterClient).ClusterKeySlot(t.Context(), name).Val())*3/16384 != node {
					name = newName()
				}
				l := lock(t, c.Mutex(name, redislock.Options{Lease: lease}))
				leases = append(leases, kept{l, fmt.Sprintf("prompt=%t, a lock on each node=%t: node %d", prompt, all, node), node != 2})
			}
		}
	}
	if err := syscall.Kill(hung, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(hung, syscall.SIGCONT)
	began := time.Now()
	for _, l := range leases {
		if !l.well {
			<-l.Done()
		}
	}
	for _, l := range leases {
		for until := began; l.well && until.Before(began.Add(2*lease)); until, _ = l.Deadline() {
			if err := l.Err(); err != nil {
				t.Errorf("%s: %v", l.what, err)
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	if err := syscall.Kill(hung, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for _, l := range leases {
		if l.well && l.Err() == nil {
			unlock(t, l.Lease)
		}
	}
}
