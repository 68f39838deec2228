package redislock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/harness"
	"locklab/redislock"
)

// A death kills processes of a lock. It returns the remaining waiter, and the time.
type death struct {
	name string
	die  func(t *testing.T, s *deathScene) (last *waiter, died time.Time)
}

var deaths = []death{
	{"holder", func(t *testing.T, s *deathScene) (*waiter, time.Time) {
		holder, _ := s.holds(t)
		last := s.waits(t, s.process(t))
		return last, s.kill(holder)
	}},
	{"holder that closes its client", func(t *testing.T, s *deathScene) (*waiter, time.Time) {
		holder, _ := s.holds(t)
		last := s.waits(t, s.process(t))
		requireNoError(t, holder.Client.Close())
		return last, time.Now()
	}},
	{"holder and first waiter", func(t *testing.T, s *deathScene) (*waiter, time.Time) {
		holder, _ := s.holds(t)
		first := s.process(t)
		s.waits(t, first)
		last := s.waits(t, s.process(t))
		return last, s.kill(holder, first)
	}},
	{"first waiter, and the holder after some renewals", func(t *testing.T, s *deathScene) (*waiter, time.Time) {
		holder, _ := s.holds(t)
		first := s.process(t)
		s.waits(t, first)
		last := s.waits(t, s.process(t))
		s.kill(first)
		time.Sleep(2 * s.lease)
		return last, s.kill(holder)
	}},
	{"the process of both", func(t *testing.T, s *deathScene) (*waiter, time.Time) {
		holder, _ := s.holds(t)
		s.waits(t, holder)
		s.waits(t, holder)
		last := s.waits(t, s.process(t))
		return last, s.kill(holder)
	}},
	{"the one that hands over and its successor", func(t *testing.T, s *deathScene) (*waiter, time.Time) {
		holder, l := s.holds(t)
		first := s.process(t)
		s.waits(t, first)
		last := s.waits(t, s.process(t))
		first.die()
		unlock(t, l)
		return last, s.kill(holder)
	}},
	{"a process that hands over to itself", func(t *testing.T, s *deathScene) (*waiter, time.Time) {
		holder, l := s.holds(t)
		s.waits(t, holder)
		last := s.waits(t, s.process(t))
		unlock(t, l)
		return last, s.kill(holder)
	}},
}

var deathKinds = []string{"Mutex", "RWMutex", "Semaphore"}

type deathScene struct {
	at           harness.Endpoint
	watch        *link
	key          string
	kind         string
	lease, grant time.Duration
}

// TestDeaths: the next waiter has the lock at most a lease and a grant timeout after deaths.
func TestDeaths(t *testing.T) {
	at := runParallel(t)
	var all errgroup.Group
	all.SetLimit(12) // they wait most of the time
	for _, d := range deaths {
		for _, kind := range deathKinds {
			all.Go(func() error {
				t.Run(fmt.Sprintf("%s/%s", d.name, kind), func(t *testing.T) {
					s := &deathScene{at: at, watch: dial(t, at), key: newKey(), kind: kind, lease: 2 * time.Second, grant: 300 * time.Millisecond}
					last, died := d.die(t, s)
					l, came := last.lease(t)
					between(t, "the next waiter", came.Sub(died), 0, s.lease+s.grant)
					unlock(t, l)
				})
				return nil
			})
		}
	}
	_ = all.Wait() // no error: the tests report it
}

func (s *deathScene) process(t *testing.T) *peer { return newPeer(t, s.at) }

func (s *deathScene) lock(p *peer) keyed {
	return kinds[s.kind](p.Client, s.key, redislock.Options{TTL: s.lease, HandoffTimeout: s.grant}).(keyed)
}

func (s *deathScene) holds(t *testing.T) (*peer, *redislock.Lease) {
	t.Helper()
	p := s.process(t)
	return p, lock(t, s.lock(p))
}

func (s *deathScene) waits(t *testing.T, p *peer) *waiter {
	t.Helper()
	w := enqueue(t, s.watch, s.lock(p))
	t.Cleanup(w.cancel)
	return w
}

func (s *deathScene) kill(ps ...*peer) time.Time {
	for _, p := range ps {
		p.die()
	}
	return time.Now()
}

// queueLeftPlace: a place that is left while the server is unreachable goes afterwards.
func queueLeftPlace(t *testing.T, at harness.Endpoint) {
	watch, key := dial(t, at), newKey()
	p := newPeer(t, at)
	l := lock(t, newPeer(t, at).Mutex(key, redislock.Options{}))
	w := enqueue(t, watch, p.Mutex(key, redislock.Options{}))
	p.link.redirect("-")
	w.withdraw(t)
	time.Sleep(unlockWait + 200*time.Millisecond) // longer than the retries of a Lock that gives up
	if n := waiting(t, watch, key); n != 1 {
		t.Fatalf("the test shows nothing: %d waiters are in the queue, want the one that could not leave", n)
	}
	p.link.redirect("")
	back := time.Now()
	eventually(t, "the place goes", func() bool { return waiting(t, watch, key) == 0 })
	between(t, "the place", time.Since(back), 0, time.Second)
	unlock(t, l)
}

// queueGrantToNone: a process gives back a lock that is handed to a waiter that gave up.
func queueGrantToNone(t *testing.T, at harness.Endpoint) {
	const grant = 8 * time.Second
	watch, key := dial(t, at), newKey()
	o := redislock.Options{HandoffTimeout: grant}
	p := newPeer(t, at)
	l := lock(t, newPeer(t, at).Mutex(key, o))
	gone := enqueue(t, watch, p.Mutex(key, o))
	next := enqueue(t, watch, newPeer(t, at).Mutex(key, o))
	p.link.redirect("-")
	gone.withdraw(t)
	unlock(t, l)
	eventually(t, "the waiter that has gone owns the lock", func() bool { return owner(t, watch, key) != "" })
	p.link.redirect("")
	left := time.Now()
	l, came := next.lease(t)
	between(t, "a handover past a waiter that has gone", came.Sub(left), 0, time.Second)
	unlock(t, l)
}

func queueMailboxOfDead(t *testing.T, at harness.Endpoint) {
	const lease = time.Second
	boxes, watch := make(map[string]string), dial(t, at)
	for _, kind := range deathKinds {
		s := &deathScene{at: at, watch: watch, key: newKey(), kind: kind, lease: lease, grant: lease}
		_, l := s.holds(t)
		dead := s.process(t)
		s.waits(t, dead)
		boxes[kind] = redislock.Companion(s.key, "mail:") + mailboxOf(t, watch, s.key)
		dead.die()
		s.waits(t, s.process(t))
		t.Cleanup(func() { l.Unlock(context.WithoutCancel(t.Context())) })
	}
	time.Sleep(3 * lease) // nine renewals
	for kind, box := range boxes {
		if n := watch.LLen(t.Context(), box).Val(); n > 1 {
			t.Errorf("%s: %d messages lie in the mailbox of a dead waiter", kind, n)
		}
	}
}

// manyWaitersAsk: many waiters of a held lock ask about once a lease, not all at once.
func manyWaitersAsk(t *testing.T, at harness.Endpoint) {
	const lease, grant, clients, leases = 900 * time.Millisecond, 300 * time.Millisecond, 100, 4
	watch, key := dial(t, at), newKey()
	o := redislock.Options{TTL: lease, HandoffTimeout: grant}
	p := newPeer(t, at)
	m := p.Mutex(key, o)
	l := lock(t, newPeer(t, at).Mutex(key, o))
	startWaiters(t, watch, m, clients)
	before, began := p.link.Counts().Requests, time.Now()
	time.Sleep(leases * lease)
	each := float64(p.link.Counts().Requests-before) / clients / (time.Since(began).Seconds() / lease.Seconds())
	t.Logf("%d waiters asked %.2f times in each lease, each", clients, each)
	if each < 0.5 || each > 1.6 {
		t.Errorf("each waiter asked %.2f times in each lease, want 1 to 1.5", each)
	}
	expectNoError(t, l.Err())
	unlock(t, l)
}

func queueLongQueue(t *testing.T, at harness.Endpoint) {
	const clients, times, hold, grant = 20, 3, 25 * time.Millisecond, 300 * time.Millisecond
	key := newKey()
	var asked, early atomic.Int64
	ctx := redislock.WithTrace(t.Context(), &redislock.Trace{
		Sent: func(s redislock.SentInfo) {
			if s.Op == "acquire" {
				asked.Add(1)
			}
		},
		Woken: func(w redislock.WokenInfo) {
			if w.Why == redislock.WakeTime {
				early.Add(1)
			}
		},
	})
	began := time.Now()
	var working sync.WaitGroup
	for range clients {
		m := newPeer(t, at).Mutex(key, redislock.Options{HandoffTimeout: grant})
		working.Go(func() {
			for range times {
				l, err := m.Lock(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(hold)
				l.Unlock(ctx)
			}
		})
	}
	working.Wait()
	wait := time.Since(began) / times
	t.Logf("%d requests for %d acquisitions, each of which waits for %v; %d because of the time", asked.Load(), clients*times, wait.Round(time.Millisecond), early.Load())
	if wait < grant {
		t.Errorf("the test shows nothing: they wait for %v, less than a grant of %v", wait, grant)
	}
	if early.Load() > clients*times/4 {
		t.Errorf("%d requests because of the time in %d acquisitions, want none", early.Load(), clients*times)
	}
}
