package atomics_test

import (
	"fmt"
	"runtime"
	"sync"

	"locklab/atomics"
)

// A SpinLock waits by polling one word.
type SpinLock struct {
	taken atomics.Uint32
	_     atomics.CacheLinePad // the words after it have other writers
}

func (l *SpinLock) Lock() {
	for round := 1; !l.taken.CompareAndSwap(0, 1); round++ {
		for l.taken.Load() != 0 { // read only, and leave the line to the holder
			atomics.SpinHint(8)
			if round++; round%16 == 0 {
				runtime.Gosched() // the holder may be waiting for this CPU
			}
		}
	}
}

func (l *SpinLock) Unlock() { l.taken.StoreRelease(0) }

func Example() {
	var lock SpinLock
	var wg sync.WaitGroup
	count := 0
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				lock.Lock()
				count++
				lock.Unlock()
			}
		})
	}
	wg.Wait()
	fmt.Println(count)
	// Output: 4000
}

func ExampleTicks() {
	start := atomics.Ticks()
	atomics.SpinHint(64)
	span := atomics.Ticks() - start
	if hz := atomics.ClockHz(); hz != 0 {
		fmt.Println("shorter than a minute:", float64(span)/hz < 60)
	} else { // calibrate against the monotonic clock
		fmt.Println("shorter than a minute:", span < 60*1e10)
	}
	// Output: shorter than a minute: true
}
