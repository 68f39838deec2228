package redislock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/redislock"
)

// A sleeper is a machine that was suspended: Go's clock and timers stand still.
type sleeper struct {
	*redislock.Client
	slept atomic.Int64
}

func (s *sleeper) suspend(d time.Duration) { s.slept.Add(int64(d)) }

func newSleeper(t *testing.T, c *link) *sleeper {
	t.Helper()
	s := new(sleeper)
	s.Client = redislock.NewClient(c.client, redislock.WithSuspends(redislock.ClientOptions{}, func() time.Duration { return time.Duration(s.slept.Load()) }))
	t.Cleanup(func() { s.Close() })
	return s
}

// requireExpired checks that a lease that ended in a suspend reports it before any Go timer.
func requireExpired(t *testing.T, l *redislock.Lease) {
	t.Helper()
	if until, ok := l.Deadline(); !ok || time.Until(until) > 0 {
		t.Errorf("its Deadline is in %v", time.Until(until))
	}
	if err := l.Err(); !errors.Is(err, redislock.ErrLost) {
		t.Errorf("Err = %v, want ErrLost", err)
	}
	requireDone(t, l)
}

// TestSuspend: after a suspend longer than a lease, the lease is over at once.
func TestSuspend(t *testing.T) {
	at := runParallel(t)
	for kind, make := range lockables() {
		t.Run(kind, func(t *testing.T) {
			for _, fixed := range []bool{false, true} {
				s, name := newSleeper(t, dialServer(t, at)), newKey()
				l := lockNow(t, make(s.Client, name, redislock.Options{TTL: time.Hour, DisableRenewal: fixed}))
				s.suspend(30 * time.Minute)
				if until, _ := l.Deadline(); l.Err() != nil || time.Until(until) < 20*time.Minute || time.Until(until) > 30*time.Minute {
					t.Errorf("after half of its time it ends in %v: %v", time.Until(until), l.Err())
				}
				s.suspend(30 * time.Minute)
				requireExpired(t, l)
				requireLost(t, l)
			}
			suspendPastMaxHold(t, at, kind)
		})
	}
	t.Run("before the answer", func(t *testing.T) { suspendBeforeAnswer(t, at) })
	t.Run("late timers", func(t *testing.T) { renewAfterSuspend(t, at) })
	t.Run("during a renewal", func(t *testing.T) { suspendDuringRenewal(t, at) })
}

func suspendPastMaxHold(t *testing.T, at harness.Endpoint, kind string) {
	make := lockables()[kind]
	s, name := newSleeper(t, dialServer(t, at)), newKey()
	l := lockNow(t, make(s.Client, name, redislock.Options{TTL: time.Hour, MaxHold: time.Minute}))
	s.suspend(2 * time.Minute)
	requireExpired(t, l)
	if err := l.Err(); err == nil || !strings.Contains(err.Error(), "MaxHold") {
		t.Errorf("Err = %v, want one about MaxHold", err)
	}
	if kind == "RLocker" { // readers do not wait for one another
		make = lockables()["RWMutex"]
	}
	unlockLease(t, lockNow(t, make(newClient(t, dialServer(t, at)), name, redislock.Options{})))
}

// suspendBeforeAnswer: no lease begins that was over before its answer was read.
func suspendBeforeAnswer(t *testing.T, at harness.Endpoint) {
	c := dialServer(t, at)
	s, name := newSleeper(t, c), newKey()
	first := &atomic.Bool{}
	c.client.AddHook(afterScript(func() {
		if first.CompareAndSwap(false, true) {
			s.suspend(2 * time.Hour)
		}
	}))
	for kind, make := range lockables() {
		first.Store(false)
		l := lockNow(t, make(s.Client, name, redislock.Options{TTL: time.Hour}))
		if until, _ := l.Deadline(); l.Err() != nil || time.Until(until) <= 0 {
			t.Errorf("%s: Lock returned a lease that was over: until %v, %v", kind, time.Until(until), l.Err())
		}
		if !first.Load() {
			t.Errorf("%s: no request was met", kind)
		}
		l.Unlock(t.Context())
		name = newKey()
	}
}

func afterScript(do func()) hook {
	return func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		err := next(ctx, cmd)
		if strings.HasPrefix(cmd.Name(), "eval") {
			do()
		}
		return err
	}
}

// renewAfterSuspend: a lease that begins after a suspend is renewed in time.
func renewAfterSuspend(t *testing.T, at harness.Endpoint) {
	s := newSleeper(t, dialServer(t, at))
	lockNow(t, s.Mutex(newKey(), redislock.Options{TTL: time.Hour}))
	s.suspend(40 * time.Minute) // renewal is due in 20 minutes of Go's clock
	l := lockNow(t, s.Mutex(newKey(), redislock.Options{TTL: 3 * time.Second}))
	awaitRenewal(t, l)
	unlockLease(t, l)
}

// suspendDuringRenewal: the answer to a renewal does not prolong a lease that Err has ended.
func suspendDuringRenewal(t *testing.T, at harness.Endpoint) {
	c := dialServer(t, at)
	s, key := newSleeper(t, c), newKey()
	l := lockNow(t, s.Mutex(key, redislock.Options{TTL: 1500 * time.Millisecond}))
	c.client.AddHook(afterScript(sync.OnceFunc(func() {
		s.suspend(1200 * time.Millisecond) // past its deadline, but not past the new one
		requireExpired(t, l)
	})))
	waitUntil(t, "the lock is free", func() bool { return ownerOf(t, c, key) == "" })
}

func redlockSuspended(t *testing.T, s *trio) {
	var clients []*redislock.Client
	var machine []*sleeper
	for i, l := range s.dial(t) {
		c := newSleeper(t, l)
		c.suspend(time.Duration(i) * time.Hour)
		machine, clients = append(machine, c), append(clients, c.Client)
	}
	const ttl = 10 * time.Minute
	slices.Reverse(clients)
	l := lockNow(t, redislock.NewRedlock(clients, s.key, redislock.RedlockOptions{PollOptions: redislock.PollOptions{Options: redislock.Options{TTL: ttl}}}))
	if until, _ := l.Deadline(); l.Err() != nil || time.Until(until) < ttl/2 || time.Until(until) > ttl {
		t.Errorf("a lease of %v ends in %v: %v", ttl, time.Until(until), l.Err())
	}
	for _, c := range machine {
		c.suspend(ttl)
	}
	requireExpired(t, l)
	l.Unlock(t.Context())
}

// TestCohortAsksFirst: a row continues only if the server has confirmed the lock lately.
func TestCohortAsksFirst(t *testing.T) {
	at := runParallel(t)
	c := dialServer(t, at)
	s := newSleeper(t, c)
	for _, row := range []struct {
		grant, suspend time.Duration
		fixed, cut     bool // renewal is disabled; the server is unreachable
		want           bool
	}{
		{time.Minute, 0, true, false, true},
		{time.Minute, 2 * time.Minute, false, false, true}, // a renewal confirms it
		{time.Minute, 2 * time.Minute, false, true, false},
		{time.Minute, 2 * time.Minute, true, false, false},
		{time.Hour, 40 * time.Minute, true, false, false}, // it is nearly over
	} {
		m := s.Cohort(newKey(), redislock.CohortOptions{Options: redislock.Options{TTL: time.Hour, HandoffTimeout: row.grant, DisableRenewal: row.fixed}})
		l := lockNow(t, m)
		s.suspend(row.suspend)
		if row.cut {
			c.redirect("-")
		}
		if got := redislock.CohortMayHandOver(m, l); got != row.want {
			t.Errorf("%+v: it hands over: %t", row, got)
		}
		if row.cut {
			c.redirect("")
		}
		unlockLease(t, l)
	}
}

// TestServerClockFromRequest: the server's clock belongs to the request's time.
func TestServerClockFromRequest(t *testing.T) {
	at := runParallel(t)
	key := newKey()
	l := lockNow(t, newClient(t, dialServer(t, at)).Mutex(key, redislock.Options{}))
	c := dialServer(t, at)
	var answered atomic.Int64 // when the first answer came
	c.client.AddHook(afterScript(func() { answered.CompareAndSwap(0, time.Now().UnixNano()); time.Sleep(time.Millisecond) }))
	m := newClient(t, c).Mutex(key, redislock.Options{})
	next := beginLock(t, m)
	waitUntil(t, "the server's clock is known", func() bool { return !redislock.HeardServerAt(m).IsZero() })
	if late := redislock.HeardServerAt(m).UnixNano() - answered.Load(); late > 0 {
		t.Errorf("counted from %v after the answer", time.Duration(late))
	}
	unlockLease(t, l)
	unlockLease(t, takeLease(t, next))
}

// TestStopped: a process that was stopped for longer than its lease gets another one.
func TestStopped(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	for name, stop := range redislock.Stopped {
		t.Run(name, func(t *testing.T) { stop(t, newClient(t, dialServer(t, at))) })
	}
}
