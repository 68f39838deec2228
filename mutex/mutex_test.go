package mutex_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/machine"
	"locklab/mutex"
	"locklab/mutex/lab"
)

// The types that promise a ready zero value, TryLock, or readers.
var (
	_ tryLocker      = (*mutex.Chan)(nil)
	_ tryLocker      = (*mutex.Mutex)(nil)
	_ tryLocker      = (*mutex.RWMutex)(nil)
	_ tryLocker      = (*mutex.SeqLock)(nil)
	_ mutex.RWLocker = (*mutex.RWMutex)(nil)
	_ mutex.RWLocker = (*mutex.PhaseFair)(nil)
	_ mutex.RWLocker = (*mutex.BRAVOWorker)(nil)
	_ tryLocker      = (*mutex.MCSParkWorker)(nil)
	_ tryLocker      = (*mutex.SpinParkWorker)(nil)
)

type tryLocker interface {
	sync.Locker
	TryLock() bool
}

var one = harness.Setup{Workers: 1}

func variant(tb testing.TB, name string) *harness.Variant {
	tb.Helper()
	i := slices.IndexFunc(lab.Suite, func(v *harness.Variant) bool { return v.Name == name })
	if i < 0 {
		tb.Fatalf("no lock %q", name)
	}
	return lab.Suite[i]
}

// TestWaitersYield: on one processor, a polling waiter lets the holder run, instead of for 10
// ms keeping the processor. The time of other programs does not count.
func TestWaitersYield(t *testing.T) {
	const times = 20
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, v := range lab.Suite {
		if v.Family != harness.Spin {
			continue
		}
		for _, wait := range harness.WaitPolicies {
			if wait == harness.WaitSpin {
				continue // this policy does not promise it
			}
			l := v.Local(harness.Setup{Workers: 2, Wait: wait})
			before := machine.ProcessUsage()
			var wg sync.WaitGroup
			for i := range 2 {
				wg.Go(func() {
					h := l.Worker(i)
					for range times {
						h.Lock()
						runtime.Gosched() // to the waiter, which must yield the processor
						h.Unlock()
					}
				})
			}
			wg.Wait()
			if d, stuck := machine.ProcessUsage().Sub(before).CPU(), times*10*time.Millisecond; d > stuck {
				t.Errorf("%s wait=%s: %d acquisitions took %v of processor time: the waiter keeps the processor", v.Name, wait, 2*times, d)
			}
		}
	}
}

func TestOwnCacheLines(t *testing.T) {
	for name, size := range map[string]uintptr{
		"SpinPark":  unsafe.Sizeof(mutex.SpinPark{}),
		"MCSPark":   unsafe.Sizeof(mutex.MCSPark{}),
		"PhaseFair": unsafe.Sizeof(mutex.PhaseFair{}),
		"BRAVO":     unsafe.Sizeof(mutex.BRAVO{}),
		"SeqLock":   unsafe.Sizeof(mutex.SeqLock{}),
	} {
		if size < 2*atomics.CacheLine {
			t.Errorf("%s has %d bytes: no space for padding on both sides of its word", name, size)
		}
	}
}

func TestBrokenControls(t *testing.T) {
	var got []string
	for _, v := range lab.Suite {
		if v.Status == harness.Broken {
			got = append(got, v.Name)
		}
	}
	if want := []string{"busted-tas", "busted-handoff", "busted-fifo", "busted-rw"}; !slices.Equal(got, want) {
		t.Errorf("broken locks: got %v, want %v", got, want)
	}
}

// A countingRW counts the readers that reach the lock under BRAVO.
type countingRW struct {
	sync.RWMutex
	reads atomic.Int64
}

func (l *countingRW) RLock() {
	l.reads.Add(1)
	l.RWMutex.RLock()
}

// TestBRAVOBypass: only the first reader and the first after a writer reach the lock below.
func TestBRAVOBypass(t *testing.T) {
	under := new(countingRW)
	l := mutex.NewBRAVO(2, under, mutex.Options{})
	a, b := l.Worker(0), l.Worker(1)
	read := func() {
		for range 3 {
			a.RLock()
			b.RLock()
			//lint:ignore SA2001 only which way they take matters
			b.RUnlock()
			a.RUnlock()
		}
	}
	read()
	if n := under.reads.Load(); n != 1 {
		t.Errorf("%d of 6 readers reached the lock underneath, want 1: one that finds no bias sets it", n)
	}
	a.Lock()
	//lint:ignore SA2001 only that a writer came matters
	a.Unlock()
	before := under.reads.Load()
	a.RLock()
	if n := under.reads.Load(); n != before+1 {
		t.Error("the first reader after a writer did not take the lock underneath: the bias is still set")
	}
	a.RUnlock()
}

func ExampleSeqLock() {
	var (
		l    mutex.SeqLock
		x, y atomic.Int64 // guarded by l, and atomic nevertheless
	)
	move := func(by int64) {
		l.Lock()
		defer l.Unlock()
		x.Add(by)
		y.Add(by)
	}
	where := func() (int64, int64) {
		for {
			v := l.ReadBegin()
			a, b := x.Load(), y.Load()
			if !l.ReadRetry(v) {
				return a, b
			}
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 1000 {
			move(1)
		}
	})
	for range 1000 {
		if a, b := where(); a != b {
			fmt.Println("read half-way between two writes:", a, b)
		}
	}
	wg.Wait()
	fmt.Println(where())
	// Output: 1000 1000
}

func ExampleBRAVO() {
	const workers = 4
	lock := mutex.NewBRAVO(workers, new(sync.RWMutex), mutex.Options{})
	names := map[string]int{"one": 1}
	var (
		found atomic.Int64
		wg    sync.WaitGroup
	)
	for i := range workers {
		wg.Go(func() {
			mu := lock.Worker(i) // the handle of this worker
			for range 1000 {
				mu.RLock()
				found.Add(int64(names["one"]))
				mu.RUnlock()
			}
		})
	}
	wg.Wait()
	fmt.Println(found.Load())
	// Output: 4000
}

func BenchmarkPair(b *testing.B) {
	for _, v := range lab.Suite {
		if v.Status == harness.Broken || v.Unavailable != "" {
			continue
		}
		h := v.Local(one).Worker(0)
		b.Run("lock="+v.Name+"/op=write", func(b *testing.B) {
			for b.Loop() {
				h.Lock()
				//lint:ignore SA2001 only the cost of the pair matters
				h.Unlock()
			}
		})
		switch h := h.(type) {
		case harness.RWLocker:
			b.Run("lock="+v.Name+"/op=read", func(b *testing.B) {
				for b.Loop() {
					h.RLock()
					//lint:ignore SA2001 only the cost of the pair matters
					h.RUnlock()
				}
			})
		case harness.OptimisticReader:
			b.Run("lock="+v.Name+"/op=read", func(b *testing.B) {
				for b.Loop() {
					for v := h.ReadBegin(); h.ReadRetry(v); v = h.ReadBegin() {
					}
				}
			})
		}
	}
}

func BenchmarkReaders(b *testing.B) {
	for _, name := range []string{"sync-mutex", "sync-rwmutex", "rw-mutex", "phase-fair", "bravo", "xsync-rbmutex", "seqlock"} {
		b.Run("lock="+name, func(b *testing.B) {
			l := variant(b, name).Local(harness.Setup{Workers: runtime.GOMAXPROCS(0)})
			var next atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				h := l.Worker(int(next.Add(1) - 1))
				for pb.Next() {
					switch h := h.(type) {
					case harness.RWLocker:
						h.RLock()
						h.RUnlock()
					case harness.OptimisticReader:
						for v := h.ReadBegin(); h.ReadRetry(v); v = h.ReadBegin() {
						}
					default:
						h.Lock()
						h.Unlock()
					}
				}
			})
		})
	}
}
