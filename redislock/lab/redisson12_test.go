package lab

import (
	"sync"
	"testing"
	"time"
)

// TestRedisson12 shows the faults of Redisson 1.2.0 that the failure scenarios reentry-late,
// reentry-crash, release-late, acquire-crash and answer-late do not show.
func TestRedisson12(t *testing.T) {
	runScenes(t, []sceneTest{
		{"slow subscription", twiceTheWait},
		{"permits left over", leftOver},
		{"herd of processes", herd12},
		{"count", counts12},
	})
}

// B22: the time of the subscription is not subtracted from the time to wait.
func twiceTheWait(t *testing.T, s *scene) {
	const wait, slow = 600 * time.Millisecond, 500 * time.Millisecond
	p, q := s.process12(), s.process12()
	s.take(p.thread().try)
	q.before = once("subscribe", func() { time.Sleep(slow) })
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
	eventually(t, "three permits", func() bool { return len(e.latch) == 3 })
	s.hold(h)
	expectTimeout(t, time.Second, q.thread().hold)
	if all, inVain := q.wakeups.Load(), q.inVain.Load(); all != 3 || inVain != 3 {
		t.Errorf("%d wake-ups, %d in vain, want 3: the hazard is gone", all, inVain)
	}
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
		p.before = once("sleep", slept.Done)
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
