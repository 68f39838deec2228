package redislock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/redislock"
)

// queueDeadProcess: the waiters of a dead process together cost one grant timeout.
func queueDeadProcess(t *testing.T, at harness.Endpoint) {
	const grant = 600 * time.Millisecond
	for _, test := range []struct {
		kind      string
		processes time.Duration
		waiters   []string
	}{
		{"Mutex", 1, []string{"GHOST:1"}},
		{"Mutex", 1, []string{"GHOST:1", "GHOST:2", "GHOST:3", "GHOST:4"}},
		{"Mutex", 2, []string{"GHOST:1", "OTHER:1", "GHOST:2", "OTHER:2"}},
		{"RWMutex", 1, []string{"GHOST:1:1", "GHOST:2:1"}},
	} {
		watch, key := dial(t, at), newKey()
		m := kinds[test.kind](newPeer(t, at).Client, key, redislock.Options{HandoffTimeout: grant}).(keyed)
		l := lock(t, m)
		w := enqueue(t, watch, m)
		ghosts(t, watch, key, test.waiters...)
		left := time.Now()
		unlock(t, l)
		l, came := w.lease(t)
		cost := test.processes * grant
		between(t, "getting past dead waiters", came.Sub(left), cost, cost)
		unlock(t, l)
	}
}

// queueLateUnlock: a late holder hands on a free lock, though the first waiter is dead.
func queueLateUnlock(t *testing.T, at harness.Endpoint) {
	const lease, grant = 700 * time.Millisecond, 600 * time.Millisecond
	watch, key := dial(t, at), newKey()
	l := lock(t, newPeer(t, at).Mutex(key, redislock.Options{TTL: lease, HandoffTimeout: grant, DisableRenewal: true}))
	ghosts(t, watch, key, "GHOST:1")
	w := enqueue(t, watch, newPeer(t, at).Mutex(key, redislock.Options{HandoffTimeout: grant}))
	<-l.Done()
	eventually(t, "the lease is over", func() bool { return owner(t, watch, key) == "" })
	left := time.Now()
	lost(t, l)
	next, came := w.lease(t)
	between(t, "a successor", came.Sub(left), grant, grant)
	unlock(t, next)
}

func queueGuardLeaves(t *testing.T, at harness.Endpoint) {
	const grant = 300 * time.Millisecond
	watch, key := dial(t, at), newKey()
	o := redislock.Options{HandoffTimeout: grant}
	p := newPeer(t, at)
	l := lock(t, p.Mutex(key, o))
	w := enqueue(t, watch, newPeer(t, at).Mutex(key, o))
	ghosts(t, watch, key, "GHOST:1")
	left := time.Now()
	unlock(t, l)
	requireNoError(t, p.Client.Close())
	l, came := w.lease(t)
	between(t, "getting past a dead waiter", came.Sub(left), grant/2, grant)
	unlock(t, l)
}

func queueCancelMiddle(t *testing.T, at harness.Endpoint) {
	watch, key := dial(t, at), newKey()
	m := newPeer(t, at).Mutex(key, redislock.Options{})
	l := lock(t, m)
	a, b, c := enqueue(t, watch, m), enqueue(t, watch, m), enqueue(t, watch, m)
	b.withdraw(t)
	if n := waiting(t, watch, key); n != 2 {
		t.Errorf("%d waiters are in the queue, want 2", n)
	}
	for _, w := range []*waiter{a, c} {
		unlock(t, l)
		left := time.Now()
		var came time.Time
		l, came = w.lease(t)
		between(t, "a handover", came.Sub(left), -time.Second, 0)
	}
	unlock(t, l)
}

func queueCancelGranted(t *testing.T, at harness.Endpoint) {
	watch, key := dial(t, at), newKey()
	o := redislock.Options{HandoffTimeout: 10 * time.Second}
	slow, p := newPeer(t, at), newPeer(t, at)
	m := p.Mutex(key, o)
	l := lock(t, m)
	a, b := enqueue(t, watch, slow.Mutex(key, o)), enqueue(t, watch, m)
	slow.mail.delay.Store(int64(2 * time.Second))
	unlock(t, l)
	left := time.Now()
	time.Sleep(50 * time.Millisecond)
	a.withdraw(t)
	l, came := b.lease(t)
	between(t, "a handover past a waiter that goes", came.Sub(left), 0, 50*time.Millisecond)
	unlock(t, l)
	slow.mail.delay.Store(0)
}

func retrying(o *redis.Options) { o.MaxRetries = 3 }

func queueLostUnlock(t *testing.T, at harness.Endpoint) {
	const grant = 300 * time.Millisecond
	for name, tweak := range map[string]func(*redis.Options){"by us": func(*redis.Options) {}, "by the library": retrying} {
		watch, key := dial(t, at), newKey()
		o := redislock.Options{HandoffTimeout: grant}
		p := newPeer(t, at, tweak)
		l := lock(t, p.Mutex(key, o))
		w := enqueue(t, watch, newPeer(t, at).Mutex(key, o))
		ghosts(t, watch, key, "GHOST:1")
		p.lose.Store(1)
		err := l.Unlock(t.Context())
		if name == "by us" && err != nil || name != "by us" && err != nil && !errors.Is(err, redislock.ErrNotHeld) {
			t.Errorf("repeated %s: Unlock = %v", name, err)
		}
		left := time.Now()
		l, came := w.lease(t) // the handover to the ghost is checked
		between(t, "getting past a dead waiter", came.Sub(left), grant/2, grant)
		unlock(t, l)
	}
}

func queueReaderKilled(t *testing.T, at harness.Endpoint) {
	watch, key := dial(t, at), newKey()
	p := newPeer(t, at)
	m := p.Mutex(key, redislock.Options{})
	for range 20 {
		l := lock(t, m)
		w := enqueue(t, watch, m)
		var killed int
		eventually(t, "the reader is killed", func() bool {
			for _, c := range p.mail.open() {
				n, _ := watch.ClientKillByFilter(t.Context(), "ADDR", c.LocalAddr().String()).Result()
				killed += int(n)
			}
			return killed > 0
		})
		unlock(t, l)
		left := time.Now()
		l, came := w.lease(t)
		if took := came.Sub(left); took > slack {
			t.Errorf("the waiter got on only after %v", took)
		}
		unlock(t, l)
	}
}
