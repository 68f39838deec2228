package lab

import (
	"sync"
	"sync/atomic"
	"testing"

	"locklab/harness"
)

// BenchmarkDoorway runs the bakery with four workers. Of the waits in which all others were
// served once, it reports the shares in which one and more acquisitions too many passed.
func BenchmarkDoorway(b *testing.B) {
	const workers = 4
	l := newBakery(harness.Setup{Workers: workers}, true)
	var served atomic.Uint64
	var over [3]atomic.Uint64 // waits by the number of further acquisitions; 2 is two or more
	var all sync.WaitGroup
	for i := range workers {
		h := l.Worker(i)
		all.Go(func() {
			for range max(1, b.N/workers) {
				asked := served.Load()
				h.Lock()
				if ahead := served.Add(1) - 1 - asked; ahead >= workers-1 {
					over[min(2, ahead-(workers-1))].Add(1)
				}
				h.Unlock()
			}
		})
	}
	all.Wait()
	waits := over[0].Load() + over[1].Load() + over[2].Load()
	if waits == 0 {
		return // too few acquisitions: no waiter ever waited for all others
	}
	b.ReportMetric(float64(waits), "waits")
	b.ReportMetric(100*float64(over[1].Load())/float64(waits), "one-more-%")
	b.ReportMetric(100*float64(over[2].Load())/float64(waits), "two-more-%")
}
