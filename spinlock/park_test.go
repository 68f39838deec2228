package spinlock_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/spinlock"
	"locklab/spinlock/lab"
)

// sleepers lists the locks that can wake a sleeping waiter, with the number of waiters that
// stay awake: the first behind a holder that did not wait, and the alpha of fissile.
var sleepers = map[string]int{
	"ticket": 1, "ticket-prop": 1, "twa": 1, "anderson": 1, "clh": 1, "mcs": 0, "k42": 0, "hapax": 0,
	"hemlock": 0, "reciprocating": 0, "malthusian": 0, "cohort": 1, "fissile": 1,
}

func countSleepers() (n int) {
	buf := make([]byte, 1<<20)
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		head, frames, _ := strings.Cut(g, "\n")
		asleep := strings.Contains(head, "[chan receive") || strings.Contains(head, "[select") // the latter with the tag systematic
		if asleep && strings.Contains(frames, "(*Parker).Park") && strings.Contains(frames, "locklab/spinlock") {
			n++
		}
	}
	return n
}

func waitUntil(cond func() bool) bool {
	for end := time.Now().Add(10 * time.Second); !cond(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// TestWaitersSleep: with many waiters all sleep, unless locks or policies promise the
// opposite, and then all wake up.
func TestWaitersSleep(t *testing.T) {
	workers := runtime.GOMAXPROCS(0) + 4
	for _, v := range lab.Suite {
		if v.Traits.MaxWorkers > 0 && v.Traits.MaxWorkers < workers {
			continue
		}
		for _, wait := range harness.WaitPolicies {
			awake, sleeps := sleepers[v.Name]
			want := 0
			if sleeps && (wait == harness.WaitPark || wait == harness.WaitAdaptive) {
				want = workers - 1 - awake
			} else if wait == harness.WaitSpin {
				continue // would only slow the test down
			}
			l := v.Local(harness.Setup{Workers: workers, Wait: wait})
			t.Run(fmt.Sprintf("%s/%s", v.Name, wait), func(t *testing.T) { sleepAndWake(t, l, workers, want) })
		}
	}
}

func sleepAndWake(t *testing.T, l harness.Local, workers, want int) {
	first := l.Worker(0)
	first.Lock()
	var wg sync.WaitGroup
	times := 0
	for i := range workers - 1 {
		wg.Go(func() {
			h := l.Worker(i + 1)
			h.Lock()
			times++
			h.Unlock()
		})
	}
	if want == 0 {
		time.Sleep(2 * time.Millisecond) // long enough to fall asleep by mistake
	}
	if !waitUntil(func() bool { return countSleepers() == want }) {
		t.Errorf("%d of %d waiters sleep, want %d", countSleepers(), workers-1, want)
	}
	first.Unlock()
	wg.Wait()
	if times != workers-1 {
		t.Errorf("%d acquisitions, want %d", times, workers-1)
	}
}

// TestNoLostWakeUp: no wake-up is lost while the queue fills and empties.
func TestNoLostWakeUp(t *testing.T) {
	locks := map[string]func(s harness.Setup) harness.Local{
		// Each waiter meets another one in the only slot.
		"hapax, one slot": func(s harness.Setup) harness.Local { return newHapax(s, spinlock.NewHapaxSpace(1)) },
		"twa, one slot":   func(s harness.Setup) harness.Local { return newTWA(s, spinlock.NewWaitingArray(1)) },
	}
	for _, v := range lab.Suite {
		if _, ok := sleepers[v.Name]; ok {
			locks[v.Name] = v.Local
		}
	}
	for name, lock := range locks {
		for _, workers := range []int{2, 3, 5} {
			for pin, times := range map[harness.Pin]int{harness.PinNone: 3000, harness.PinThread: 50} {
				s := harness.Setup{Workers: workers, Wait: harness.WaitPark, Pin: pin}
				if err := stressLock(lock(s), s, times); err != nil {
					t.Fatalf("%s, %d workers, pin=%s: %v", name, workers, pin, err)
				}
			}
		}
	}
}

func newHapax(s harness.Setup, space *spinlock.HapaxSpace) harness.Local {
	return harness.Handles(spinlock.NewHapax(s.Workers, space, spinlock.Options{Wait: spinlock.WaitPolicy(s.Wait), Pin: spinlock.Pin(s.Pin)}))
}

func newTWA(s harness.Setup, array *spinlock.WaitingArray) harness.Local {
	return harness.Shared(spinlock.NewTWA(s.Workers, array, spinlock.Options{Wait: spinlock.WaitPolicy(s.Wait), Pin: spinlock.Pin(s.Pin)}))
}

func TestSharedSpace(t *testing.T) {
	s := harness.Setup{Workers: 3, Wait: harness.WaitPark}
	space, array := spinlock.NewHapaxSpace(2), spinlock.NewWaitingArray(2)
	for name, pair := range map[string][2]harness.Local{
		"hapax": {newHapax(s, space), newHapax(s, space)},
		"twa":   {newTWA(s, array), newTWA(s, array)},
	} {
		var wg sync.WaitGroup
		for _, l := range pair {
			wg.Go(func() {
				if err := stressLock(l, s, 2000); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		wg.Wait()
	}
}

// stressLock lets each worker take a lock that many times. If this does not end, it returns
// an error with the state of each worker; otherwise it checks the number of acquisitions.
func stressLock(l harness.Local, s harness.Setup, times int) error {
	done := make(chan struct{})
	n := 0
	go func() {
		defer close(done)
		acquireOften(l, s.Workers, s.Pin, times, func() {
			if n++; n%7 == 0 {
				runtime.Gosched() // let the others queue up
			}
		})
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		buf := make([]byte, 1<<16)
		return fmt.Errorf("no worker goes on\n%s", buf[:runtime.Stack(buf, true)])
	}
	if n != s.Workers*times {
		return fmt.Errorf("%d acquisitions, want %d", n, s.Workers*times)
	}
	return nil
}
