package redislock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/redislock"
)

// TestAllDie: when all processes of a lock die, every remaining key expires.
func TestAllDie(t *testing.T) {
	t.Parallel()
	at := locktest.Endpoint(t, harness.KindRedis)
	for kind, make := range lockables() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			leaktest.Own(t)
			watch, key := dial(t, at), newKey()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var peers []*peer
			for range 4 { // more than any of them lets in
				p := newPeer(t, at)
				peers = append(peers, p)
				m := make(p.Client, key, redislock.Options{TTL: time.Second, HandoffTimeout: 300 * time.Millisecond})
				go func() { _, _ = m.Lock(ctx) }() // the death of p ends it
			}
			w := newPeer(t, at)
			m := w.Client.RWMutex(key, redislock.Options{HandoffTimeout: 300 * time.Millisecond})
			if kind == "RLocker" { // else all of them are inside
				go func() { _, _ = m.Lock(ctx) }()
			}
			peers = append(peers, w)
			time.Sleep(200 * time.Millisecond)
			for _, p := range peers {
				p.die()
			}
			keys := watch.Keys(t.Context(), "*"+strings.Trim(key[len("locklab:"):], "{}")+"*").Val()
			if len(keys) == 0 {
				t.Error("the test shows nothing: there is no key")
			}
			for _, key := range keys {
				if left := watch.PTTL(t.Context(), key).Val(); left < 0 && left != -2 { // or gone meanwhile
					t.Errorf("%s has no end", key)
				}
			}
		})
	}
}

// TestOutOfMemory: a server without memory refuses new locks, but neither renewals nor releases.
func TestOutOfMemory(t *testing.T) {
	const lease = 1500 * time.Millisecond
	r := startSingle(t)
	admin := r.admin(t)
	held := make(map[string]*redislock.Lease)
	for kind, make := range lockables() {
		m := make(r.client(t), newName(), redislock.Options{TTL: lease})
		held[kind] = lock(t, m)
	}
	owner := r.client(t).Reentrant(newName(), redislock.Options{TTL: lease}).Owner()
	outer, inner := lock(t, owner), lock(t, owner)
	for _, set := range [][2]string{{"maxmemory-policy", "noeviction"}, {"maxmemory", "1"}} {
		requireNoError(t, admin.ConfigSet(t.Context(), set[0], set[1]).Err())
	}
	time.Sleep(lease + lease/3)
	for kind, l := range held {
		if err := l.Err(); err != nil {
			t.Errorf("%s: the lease was lost: %v", kind, err)
			continue
		}
		unlock(t, l)
	}
	unlock(t, inner)
	again, err := owner.TryLock(t.Context())
	if err != nil {
		t.Errorf("the owner of a lock cannot take it again: %v", err)
	} else {
		unlock(t, again)
	}
	unlock(t, outer)
}
