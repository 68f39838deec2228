//go:build !systematic

package atomics

import (
	"sync"
	"testing"
)

// TestLane: goroutines alive at the same time use at least half of the numbers below n.
func TestLane(t *testing.T) {
	const goroutines = 256
	for _, n := range []int{1, 2, 3, 16, 64} {
		counts := make([]int, n)
		var mu sync.Mutex // guards counts
		var ready, wg sync.WaitGroup
		ready.Add(goroutines)
		for range goroutines {
			wg.Go(func() {
				mine := Lane(n)
				mu.Lock()
				counts[mine]++
				mu.Unlock()
				ready.Done()
				ready.Wait() // so that no two have one stack
			})
		}
		wg.Wait()
		t.Log(counts)
		used := 0
		for _, c := range counts {
			used += min(c, 1)
		}
		if used < (n+1)/2 {
			t.Errorf("%d goroutines use %d of %d lanes, want half at least", goroutines, used, n)
		}
	}
}
