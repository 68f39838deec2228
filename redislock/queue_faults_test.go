package redislock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/redislock"
)

// A departure is a way in which a holder leaves a lock to dead waiters, and a live one behind them.
type departure struct {
	name        string
	kind        string
	dead        []string // the waiters
	o           redislock.Options
	leave       func(t *testing.T, p *peer, m keyed, l *redislock.Lease)
	least, most float64 // grant timeouts until the live waiter has the lock
	retries     int     // of the client library
}

var departures = []departure{
	{"dead waiter", "Mutex", []string{"GHOST:1"}, redislock.Options{}, leaveByUnlock, .9, 1, -1},
	{"dead waiters of one process", "Mutex", []string{"GHOST:1", "GHOST:2", "GHOST:3", "GHOST:4"}, redislock.Options{}, leaveByUnlock, .9, 1, -1},
	{"dead waiters of two processes", "Mutex", []string{"GHOST:1", "OTHER:1", "GHOST:2", "OTHER:2"}, redislock.Options{}, leaveByUnlock, 1.9, 2, -1},
	{"dead writers", "RWMutex", []string{"GHOST:1:1", "GHOST:2:1"}, redislock.Options{}, leaveByUnlock, .9, 1, -1},
	{"the one that handed over leaves", "Mutex", []string{"GHOST:1"}, redislock.Options{}, func(t *testing.T, p *peer, _ keyed, l *redislock.Lease) {
		unlock(t, l)
		requireNoError(t, p.Client.Close())
	}, .4, 1, -1},
	{"Unlock past the lease", "Mutex", []string{"GHOST:1"}, redislock.Options{TTL: 700 * time.Millisecond, DisableRenewal: true}, func(t *testing.T, _ *peer, _ keyed, l *redislock.Lease) {
		<-l.Done()
		time.Sleep(100 * time.Millisecond) // the lease is over in the server too
		lost(t, l)
	}, .5, 1, -1}, // the waiter may have asked before
	{"lost reply to Unlock, repeated by us", "Mutex", []string{"GHOST:1"}, redislock.Options{}, func(t *testing.T, p *peer, _ keyed, l *redislock.Lease) {
		p.lose.Store(1)
		unlock(t, l)
	}, .4, 1, -1},
	{"lost reply to Unlock, repeated by the library", "Mutex", []string{"GHOST:1"}, redislock.Options{}, func(t *testing.T, p *peer, _ keyed, l *redislock.Lease) {
		p.lose.Store(1)
		if err := l.Unlock(t.Context()); err != nil && !errors.Is(err, redislock.ErrNotHeld) {
			t.Errorf("Unlock = %v", err)
		}
	}, .4, 1, 3},
	{"force", "Mutex", nil, redislock.Options{}, leaveByForce, -2, 0, -1},
	{"force, dead waiter", "Mutex", []string{"GHOST:1"}, redislock.Options{}, leaveByForce, 0, 1, -1},
}

func leaveByUnlock(t *testing.T, _ *peer, _ keyed, l *redislock.Lease) { unlock(t, l) }

func leaveByForce(t *testing.T, _ *peer, m keyed, l *redislock.Lease) {
	if freed, err := m.(forcer).ForceUnlock(t.Context()); !freed || err != nil {
		t.Errorf("ForceUnlock = %t, %v", freed, err)
	}
	lost(t, l)
}

func (d departure) run(t *testing.T, at harness.Endpoint) {
	const grant = 600 * time.Millisecond
	d.o.HandoffTimeout = grant
	watch, key := dial(t, at), newKey()
	lockOf := func(p *peer) keyed { return kinds[d.kind](p.Client, key, d.o).(keyed) }
	p := newPeer(t, at, func(o *redis.Options) { o.MaxRetries = d.retries })
	m := lockOf(p)
	l := lock(t, m)
	w := enqueue(t, watch, lockOf(newPeer(t, at)))
	ghosts(t, watch, key, d.dead...)
	d.leave(t, p, m, l)
	left := time.Now()
	next, came := w.lease(t)
	between(t, "the live waiter", came.Sub(left), time.Duration(d.least*float64(grant)), time.Duration(d.most*float64(grant)))
	unlock(t, next)
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

func retrying(o *redis.Options) { o.MaxRetries = 3 }
