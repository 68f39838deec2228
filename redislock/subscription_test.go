package redislock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
	"locklab/redislock"
)

func listeners(t *testing.T, c *link, key string) int64 {
	t.Helper()
	channel := "redisson_lock__channel:" + key
	n, err := c.PubSubNumSub(context.WithoutCancel(t.Context()), channel).Result()
	requireNoError(t, err)
	return n[channel]
}

// reentrantPassesOn: a message that woke a waiter that gives up is passed to the next one.
func reentrantPassesOn(t *testing.T, at harness.Endpoint) {
	c, other := dial(t, at), dial(t, at)
	key := newKey()
	holder := newClient(t, other).Reentrant(key, redislock.Options{})
	m := newClient(t, c).Reentrant(key, redislock.Options{})
	var late time.Duration
	for range 20 {
		l := lock(t, holder)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var done atomic.Int64
		all.Go(func() {
			if l, err := m.Lock(ctx); err == nil {
				unlock(t, l)
			}
		})
		time.Sleep(2 * time.Millisecond)
		all.Go(func() {
			if l, err := m.Lock(t.Context()); err != nil {
				t.Error(err)
			} else {
				done.Store(1)
				unlock(t, l)
			}
		})
		eventually(t, "they listen", func() bool { return listeners(t, other, key) == 1 })
		time.Sleep(5 * time.Millisecond)
		go cancel()
		began := time.Now()
		unlock(t, l)
		all.Wait()
		late = max(late, time.Since(began))
	}
	if late > redislock.DefaultTTL/3 {
		t.Errorf("a waiter got the lock %v after it was free", late)
	}
}
