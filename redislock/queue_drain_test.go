package redislock_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
	"locklab/redislock"
)

func queueDrain(t *testing.T, at harness.Endpoint) {
	watch, key := dial(t, at), newKey()
	o := redislock.Options{TTL: 2 * time.Second, HandoffTimeout: 100 * time.Millisecond}
	var times, inside atomic.Int32
	end := time.Now().Add(4 * time.Second)
	var all sync.WaitGroup
	for range 4 {
		p := newPeer(t, at)
		m := p.Mutex(key, o)
		for range 4 {
			all.Go(func() {
				for time.Now().Before(end) {
					takeOrBreak(t, p, m, &inside)
					times.Add(1)
				}
			})
		}
	}
	all.Wait()
	began := time.Now()
	eventually(t, "the lock is free and has no waiters", func() bool {
		return owner(t, watch, key) == "" && waiting(t, watch, key) == 0
	})
	t.Logf("%d acquisitions; drained %v later", times.Load(), time.Since(began))
	if times.Load() < 100 {
		t.Error("hardly anything happened")
	}
}

func takeOrBreak(t *testing.T, p *peer, m *redislock.Mutex, inside *atomic.Int32) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	switch rand.IntN(8) {
	case 0, 1:
		ctx, cancel = context.WithTimeout(ctx, rand.N(10*time.Millisecond))
		defer cancel()
	case 2:
		if rand.IntN(4) == 0 {
			p.mail.cut()
		}
	case 3:
		if rand.IntN(8) == 0 {
			p.link.cut()
		}
	}
	began := time.Now()
	l, err := m.Lock(ctx)
	if err != nil {
		if time.Since(began) > patience/2 {
			t.Error("a waiter was stuck: ", err)
		}
		return
	}
	if inside.Add(1) != 1 && l.Err() == nil {
		t.Error("two are inside")
	}
	inside.Add(-1)
	l.Unlock(ctx)
}
