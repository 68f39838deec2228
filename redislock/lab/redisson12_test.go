package lab

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"locklab/redislock"
)

// TestRedisson12 shows each fault of Redisson 1.2.0, command by command. The same events do not
// affect redis-reentrant: here, or in the failure scenarios reentry-late, reentry-crash,
// release-late and acquire-crash.
func TestRedisson12(t *testing.T) {
	runScenes(t, []sceneTest{
		{"lease ends inside a re-entry", overwritten},
		{"re-entry drops the time to live", immortal},
		{"lease ends inside unlock", foreignUnlock},
		{"crash of the holder", forEver},
		{"key goes before PTTL/hazard", sleepsBesideFree},
		{"key goes before PTTL/redis-reentrant", wakesInTime},
		{"slow subscription/hazard", twiceTheWait},
		{"slow subscription/redis-reentrant", onceTheWait},
		{"permits left over/hazard", leftOver},
		{"permits left over/redis-reentrant", nothingLeftOver},
		{"herd of processes", herd12},
		{"count", counts12},
	})
}

// B17: GET returns the own value, the lease ends, another takes the lock, and SET overwrites it.
func overwritten(t *testing.T, s *scene) {
	p, q := s.process12(), s.process12()
	a, b := p.thread(), q.thread()
	s.take(a.try)
	p.before = once("set", 1, func() {
		s.expire()
		s.take(b.try)
	})
	s.take(a.try) // b holds the lock
	s.expectUnlock(b, false)
	s.expectUnlock(a, true)
	s.expectUnlock(a, true)
}

// B18: SET drops the time to live.
func immortal(t *testing.T, s *scene) {
	a := s.process12().thread()
	s.take(a.try)
	if left := s.ttl(); left <= 0 {
		t.Fatalf("PTTL = %v after the first lock", left)
	}
	s.take(a.try)
	if left := s.ttl(); left != -1 {
		t.Errorf("PTTL = %v after the second, want -1: the hazard is gone", left)
	}
}

// B19: the lease ends after GET, another takes the lock, and DEL frees it for a third.
func foreignUnlock(t *testing.T, s *scene) {
	p, q := s.process12(), s.process12()
	a, b, c := p.thread(), q.thread(), q.thread()
	s.take(a.try)
	p.before = once("del", 1, func() {
		s.expire()
		s.take(b.try)
	})
	s.expectUnlock(a, true)
	s.take(c.try) // b's lock
}

// B20: a crash holds the lock forever without a lease, or between SETNX and PEXPIRE.
func forEver(t *testing.T, s *scene) {
	for _, crash := range []string{"", "pexpire"} {
		p, q := s.process12(), s.process12()
		var all sync.WaitGroup
		all.Go(func() {
			lease := time.Duration(0)
			if crash != "" {
				lease = 50 * time.Millisecond
				p.before = once(crash, 1, func() { runtime.Goexit() })
			}
			p.thread().try(t.Context(), lease)
		})
		all.Wait()
		if left := s.ttl(); left != -1 {
			t.Errorf("PTTL = %v, want -1: the hazard is gone", left)
		}
		if ok, err := q.thread().lock(t.Context(), 200*time.Millisecond, 0); ok || err != nil {
			t.Errorf("tryLock behind a dead holder = %t, %v", ok, err)
		}
		requireNoError(s.t, q.forceUnlock(t.Context())) // manual repair
	}
}

// B21: the key vanishes after GET, PTTL returns -2, and the waiter of a free lock sleeps.
func sleepsBesideFree(t *testing.T, s *scene) {
	const wait = 300 * time.Millisecond
	p, q := s.process12(), s.process12()
	s.take(p.thread().try)
	q.before = once("pttl", 1, s.expire)
	if ok, left, err := q.thread().try(t.Context(), 0); ok || left != -2 || err != nil {
		t.Errorf("tryLock = %t, PTTL %v, %v: the hazard is gone", ok, left, err)
	}
	s.take(p.thread().try)
	q.before = once("pttl", 2, s.expire) // in the loop
	began := time.Now()
	if _, err := q.thread().lock(t.Context(), wait, 0); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < wait {
		t.Errorf("tryLock slept for %v beside a free lock, of %v: the hazard is gone", took, wait)
	}
	s.expire()
	s.take(p.thread().try)
	q.before = once("pttl", 2, s.expire)
	expectTimeout(t, wait, q.thread().hold)
	if s.exists() {
		t.Error("the lock is not free: the hazard is gone")
	}
}

// wakesInTime: one answer contains the state and the time left.
func wakesInTime(t *testing.T, s *scene) {
	const lease = 100 * time.Millisecond
	p, _ := s.process(redislock.Options{TTL: lease, DisableRenewal: true})
	q, _ := s.process(redislock.Options{})
	for range 5 {
		began := time.Now()
		acquire(t, p) // without telling anybody
		unlock(t, acquire(t, q))
		if took := time.Since(began); took > 20*lease {
			t.Errorf("the lock was free after %v and taken after %v", lease, took)
		}
	}
}

// B22: the time of the subscription is not subtracted from the time to wait.
func twiceTheWait(t *testing.T, s *scene) {
	const wait, slow = 600 * time.Millisecond, 500 * time.Millisecond
	p, q := s.process12(), s.process12()
	s.take(p.thread().try)
	q.before = once("subscribe", 1, func() { time.Sleep(slow) })
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

func onceTheWait(t *testing.T, s *scene) {
	const wait, slow = 600 * time.Millisecond, 500 * time.Millisecond
	p, _ := s.process(redislock.Options{})
	q, c := s.process(redislock.Options{})
	l := acquire(t, p)
	c.delay.Store(int64(slow)) // each reply
	began := time.Now()
	expectTimeout(t, wait, q.Lock)
	took := time.Since(began)
	t.Logf("Lock for %v took %v", wait, took)
	if took > wait+slow/2 {
		t.Errorf("Lock took %v, of %v", took, wait)
	}
	c.delay.Store(0)
	unlock(t, l)
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
	eventually(t, "three permits", func() bool { return len(e.latch) == 3 })
	s.hold(h)
	expectTimeout(t, time.Second, q.thread().hold)
	if all, inVain := q.wakeups.Load(), q.inVain.Load(); all != 3 || inVain != 3 {
		t.Errorf("%d wake-ups, %d in vain, want 3: the hazard is gone", all, inVain)
	}
}

func nothingLeftOver(t *testing.T, s *scene) {
	p, _ := s.process(redislock.Options{})
	q, c := s.process(redislock.Options{})
	const wait = 200 * time.Millisecond
	l := acquire(t, p)
	expectTimeout(t, wait, q.Lock) // q listens from now on
	unlock(t, l)
	for range 2 {
		unlock(t, acquire(t, p))
	}
	eventually(t, "q has heard all of it", func() bool { return c.Counts().Notifications == 3 })
	l = acquire(t, p)
	before := c.Counts()
	expectTimeout(t, wait, q.Lock)
	if n := c.Counts().Sub(before).Requests; n != 1 {
		t.Errorf("a waiter sent %d requests, want 1: it was woken in vain", n)
	}
	unlock(t, l)
}

func counts12(t *testing.T, s *scene) {
	p, q := s.process12(), s.process12()
	a, b, other := p.thread(), q.thread(), p.thread()
	for range 3 {
		s.hold(a)
	}
	for n := 3; n > 0; n-- {
		for _, thread := range []*thread12{b, other} {
			if ok, _, err := thread.try(t.Context(), 0); ok || err != nil {
				t.Errorf("try of a lock held %d times = %t, %v", n, ok, err)
			}
			s.expectUnlock(thread, false)
		}
		s.expectUnlock(a, true)
	}
	if s.exists() {
		t.Error("the key is left")
	}
	s.watch.Set(t.Context(), s.key, "not a lock", 0)
	if _, _, err := a.try(t.Context(), 0); err == nil {
		t.Error("another value is taken for a lock")
	}
}

// herd12: one release wakes one waiter in each process; only a queue wakes one in all.
func herd12(t *testing.T, s *scene) {
	const processes = 3
	h := s.process12().thread()
	s.hold(h)
	var all sync.WaitGroup
	var views []*lock12
	var slept sync.WaitGroup
	stay := make(chan struct{})
	for range processes {
		p := s.process12()
		views = append(views, p)
		slept.Add(1)
		p.before = once("sleep", 1, slept.Done)
		all.Go(func() {
			w := p.thread()
			if _, err := w.hold(t.Context()); err != nil {
				t.Error(err)
			}
			<-stay
			s.expectUnlock(w, true)
		})
	}
	slept.Wait()
	sum := func() (woken, inVain uint64) {
		for _, p := range views {
			woken, inVain = woken+p.wakeups.Load(), inVain+p.inVain.Load()
		}
		return woken, inVain
	}
	s.expectUnlock(h, true)
	eventually(t, "all but one have been woken in vain", func() bool {
		woken, inVain := sum()
		return woken == processes && inVain == processes-1
	})
	close(stay)
	all.Wait()
	t.Logf("%d processes wait: one release wakes %d, %d of them in vain", processes, processes, processes-1)
}
