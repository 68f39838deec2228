package lab

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/faultproxy"
	"locklab/redislock"
)

func TestFairRedisson(t *testing.T) {
	runScenes(t, []sceneTest{
		{"keys", fairKeys},
		{"requests", fairRequests},
		{"lost reply", fairLostReply},
	})
}

func (s *scene) fair() *redisson {
	return newRedisson(newPlain(s.t, newLink(s.t, s.at)), s.key, redislock.DefaultTTL)
}

func (s *scene) queue() []string {
	s.t.Helper()
	ctx := context.WithoutCancel(s.t.Context())
	list := s.watch.client.LRange(ctx, "redisson_lock_queue:"+s.key, 0, -1).Val()
	times := s.watch.client.ZRange(ctx, "redisson_lock_timeout:"+s.key, 0, -1).Val()
	if !slices.Equal(list, times) {
		s.t.Errorf("the queue is %q, by their times %q", list, times)
	}
	return list
}

func (s *scene) dieInQueue(w *fairThread) {
	s.t.Helper()
	if l, _, err := w.ask(s.t.Context(), true); l != nil || err != nil {
		s.t.Fatalf("a waiter behind a holder got %v, %v", l, err)
	}
}

func fairKeys(t *testing.T, s *scene) {
	f := s.fair()
	a, b, c := newFairThread(f), newFairThread(f), newFairThread(f)
	l := acquireLock(t, a)
	again := acquireLock(t, a)
	s.requireOwner(a.field)
	s.dieInQueue(b)
	s.dieInQueue(c)
	if got, want := s.queue(), []string{b.field, c.field}; !slices.Equal(got, want) {
		t.Errorf("the queue is %q, want %q", got, want)
	}
	now := time.Now().UnixMilli()
	for i, waiter := range []string{b.field, c.field} {
		score := s.watch.client.ZScore(t.Context(), "redisson_lock_timeout:"+s.key, waiter).Val()
		want := (redislock.DefaultTTL + time.Duration(i+1)*fairWait).Seconds()
		if got := (score - float64(now)) / 1000; got > want || got < want-10 {
			t.Errorf("waiter %d is waited for in %.0f s, want the lease and five minutes each: %.0f", i, got, want)
		}
	}
	unlockLease(t, l)
	unlockLease(t, again)
	if s.exists() {
		t.Error("the key is left")
	}
	if _, err := newFairThread(f).TryLock(t.Context()); !errors.Is(err, harness.ErrNotAcquired) {
		t.Errorf("TryLock before the queue = %v, want ErrNotAcquired", err)
	}
	s.watch.client.Del(t.Context(), "redisson_lock_queue:"+s.key, "redisson_lock_timeout:"+s.key)
}

func fairRequests(t *testing.T, s *scene) {
	c := newLink(t, s.at)
	f := newRedisson(newPlain(t, c), s.key, redislock.DefaultTTL)
	a := newFairThread(f)
	unlockLease(t, acquireLock(t, a))
	before := c.Counts()
	for range 20 {
		unlockLease(t, acquireLock(t, a))
	}
	if n := c.Counts().Sub(before).Requests; n != 60 {
		t.Errorf("20 cycles cost %d requests, want 3 each", n)
	}
}

func fairLostReply(t *testing.T, s *scene) {
	p, through := newProxy(t, s.at)
	c := newLink(t, through, func(o *redis.Options) { o.MaxRetries = 3 })
	f := newRedisson(newPlain(t, c), s.key, redislock.DefaultTTL)
	a := newFairThread(f)
	unlockLease(t, acquireLock(t, a))
	p.Inject(faultproxy.Fault{Do: faultproxy.LoseReply, Match: faultproxy.Op("evalsha")})
	l := acquireLock(t, a)
	s.requireOwner(a.field)
	unlockLease(t, l)
	if !s.exists() {
		t.Error("the lock is free: the hazard is gone")
	}
}

// TestRedisson12 shows the faults of Redisson 1.2.0 that the failure scenarios reentry-late,
// reentry-crash, release-late, acquire-crash and answer-late do not show.
func TestRedisson12(t *testing.T) {
	runScenes(t, []sceneTest{
		{"slow subscription", twiceTheWait},
		{"permits left over", leftOver},
		{"herd of processes", herd12},
	})
}

// B22: the time of the subscription is not subtracted from the time to wait.
func twiceTheWait(t *testing.T, s *scene) {
	const wait, slow = 600 * time.Millisecond, 500 * time.Millisecond
	p, q := s.process12(), s.process12()
	s.take(p.thread().try)
	q.before = func(step string) {
		if step == "subscribe" {
			time.Sleep(slow)
		}
	}
	began := time.Now()
	if ok, err := q.thread().lock(t.Context(), wait, 0); ok || err != nil {
		t.Errorf("tryLock = %t, %v", ok, err)
	}
	took := time.Since(began)
	t.Logf("tryLock(%v) took %v", wait, took)
	if took < wait+slow {
		t.Errorf("tryLock took %v, of %v: the hazard is gone", took, wait)
	}
}

// B23: an unlock while no waiter sleeps leaves a permit, which wakes a later one in vain.
func leftOver(t *testing.T, s *scene) {
	p, q := s.process12(), s.process12()
	e, err := q.hub.join(t.Context(), q.channel)
	requireNoError(s.t, err)
	defer q.hub.leave(t.Context(), q.channel)
	h := p.thread()
	for range 3 {
		s.take(h.try)
		s.expectUnlock(h, true)
	}
	waitUntil(t, "three permits", func() bool { return len(e.latch) == 3 })
	s.hold(h)
	var sleeps atomic.Int32
	q.before = countStep("sleep", &sleeps)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := q.thread().hold(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock = %v, want %v", err, context.DeadlineExceeded)
	}
	if n := sleeps.Load(); n != 4 {
		t.Errorf("it slept %d times, want 4, after three wake-ups in vain: the hazard is gone", n)
	}
}

// herd12: one release wakes one waiter in each process; only a queue wakes one in all.
func herd12(t *testing.T, s *scene) {
	const processes = 3
	h := s.process12().thread()
	s.hold(h)
	var all sync.WaitGroup
	var sleeps atomic.Int32
	stay := make(chan struct{})
	for range processes {
		p := s.process12()
		p.before = countStep("sleep", &sleeps)
		all.Go(func() {
			w := p.thread()
			if _, err := w.hold(t.Context()); err != nil {
				t.Error(err)
			}
			<-stay
			s.expectUnlock(w, true)
		})
	}
	waitUntil(t, "all sleep", func() bool { return sleeps.Load() == processes })
	s.expectUnlock(h, true)
	waitUntil(t, "all but one have been woken in vain", func() bool { return sleeps.Load() == 2*processes-1 })
	close(stay)
	all.Wait()
	t.Logf("%d processes wait: one release wakes %d, %d of them in vain", processes, processes, processes-1)
}
