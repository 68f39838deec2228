package spinlock_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"locklab/atomics"
	"locklab/harness"
	"locklab/spinlock"
)

// The types that promise a ready zero value and TryLock.
var (
	_ tryLocker = (*spinlock.TAS)(nil)
	_ tryLocker = (*spinlock.TTAS)(nil)
	_ tryLocker = (*spinlock.Backoff)(nil)
	_ tryLocker = (*spinlock.Ticket)(nil)
	_ tryLocker = spinlock.NewMCS(1, harness.WaitAdaptive).Worker(0).(tryLocker)

	_ harness.Local = (*spinlock.MCS)(nil)
	_ harness.Local = (*spinlock.CLH)(nil)
)

type tryLocker interface {
	sync.Locker
	harness.TryLocker
}

// TestNoAllocation covers the slow path too: AllocsPerRun counts what all
// goroutines allocate, and runs them on one processor, where each meets the
// other inside.
func TestNoAllocation(t *testing.T) {
	for _, v := range spinlock.Suite {
		l := v.Local(harness.Setup{Workers: 2})
		turn := func(mu sync.Locker) {
			mu.Lock()
			runtime.Gosched() // the other meets a held lock
			mu.Unlock()
			runtime.Gosched() // and gets it
		}
		var stop atomics.Uint32
		var wg sync.WaitGroup
		wg.Go(func() {
			for mu := l.Worker(1); stop.Load() == 0; {
				turn(mu)
			}
		})
		mu := l.Worker(0)
		if n := testing.AllocsPerRun(200, func() { turn(mu) }); n != 0 {
			t.Errorf("%s: %v allocations per turn", v.Name, n)
		}
		stop.Store(1)
		wg.Wait()
	}
}

// TestWaitersYield checks the promise that makes spinning bearable: with one
// processor and the lock held, a waiter lets the holder run. A waiter that did
// not yield would keep the processor until the scheduler takes it away, 10 ms
// later, at every turn.
func TestWaitersYield(t *testing.T) {
	const turns = 200
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, v := range spinlock.Suite {
		for _, wait := range harness.WaitPolicies {
			if wait == harness.WaitSpin {
				continue // the one policy that does not promise it
			}
			l := v.Local(harness.Setup{Workers: 2, Wait: wait})
			start := time.Now()
			var wg sync.WaitGroup
			for i := range 2 {
				wg.Go(func() {
					h := l.Worker(i)
					for range turns {
						h.Lock()
						runtime.Gosched() // to the waiter, who must give the processor back
						h.Unlock()
					}
				})
			}
			wg.Wait()
			if d, stuck := time.Since(start), turns*10*time.Millisecond; d > stuck {
				t.Errorf("%s wait=%s: %d turns took %v: the waiter keeps the processor", v.Name, wait, 2*turns, d)
			}
		}
	}
}

// TestOwnCacheLines checks that no two locks side by side share a line that
// either of them writes.
func TestOwnCacheLines(t *testing.T) {
	for name, size := range map[string]uintptr{
		"TAS":     unsafe.Sizeof(spinlock.TAS{}),
		"TTAS":    unsafe.Sizeof(spinlock.TTAS{}),
		"Backoff": unsafe.Sizeof(spinlock.Backoff{}),
		"Ticket":  unsafe.Sizeof(spinlock.Ticket{}),
		"MCS":     unsafe.Sizeof(spinlock.MCS{}),
		"CLH":     unsafe.Sizeof(spinlock.CLH{}),
	} {
		if size < 2*atomics.CacheLine {
			t.Errorf("%s has %d bytes: no room for padding on both sides of its word", name, size)
		}
	}
}

func ExampleBackoff() {
	var (
		mu    spinlock.Backoff // the zero value is free
		total int
		wg    sync.WaitGroup
	)
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				mu.Lock()
				total++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	fmt.Println(total)
	// Output: 4000
}

func ExampleNewMCS() {
	const workers = 4
	lock := spinlock.NewMCS(workers, harness.WaitAdaptive)
	var (
		total int
		wg    sync.WaitGroup
	)
	for i := range workers {
		wg.Go(func() {
			mu := lock.Worker(i) // one handle per goroutine
			for range 1000 {
				mu.Lock()
				total++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	fmt.Println(total)
	// Output: 4000
}

// BenchmarkStopTheWorld measures how long the runtime needs to stop a waiter,
// once per policy.
func BenchmarkStopTheWorld(b *testing.B) {
	for _, wait := range harness.WaitPolicies {
		b.Run(fmt.Sprintf("wait=%s", wait), func(b *testing.B) {
			l := spinlock.TTAS{Wait: wait}
			l.Lock()
			var wg sync.WaitGroup
			wg.Go(func() {
				l.Lock()
				defer l.Unlock()
			})
			var stats runtime.MemStats
			for b.Loop() {
				runtime.ReadMemStats(&stats)
			}
			l.Unlock()
			wg.Wait()
		})
	}
}
