package mutex_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"locklab/atomics"
	"locklab/mutex"
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
	a.RLock()
	if n := under.reads.Load(); n != 2 {
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
