package spinlock_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/stat"
	"locklab/spinlock/lab"
)

// BenchmarkStopTheWorld measures how long the runtime needs to stop the world while a waiter
// spins on every processor, for every lock and policy. Two rows are for comparison: no waiters,
// and waiters that stay in assembly. The time per operation includes the wait for a processor.
//
//	go test -run '^$' -bench StopTheWorld ./spinlock
func BenchmarkStopTheWorld(b *testing.B) {
	b.Run("spinner=none", func(b *testing.B) { benchmarkStops(b, b.N, func() {}) })
	b.Run("spinner=assembly", func(b *testing.B) {
		var wg sync.WaitGroup
		benchmarkStops(b, min(b.N, 10), func() {
			wg.Wait()
			for range runtime.GOMAXPROCS(0) {
				wg.Go(func() {
					for range 100_000 { // ends after some 0.2 s
						atomics.SpinHint(64)
					}
				})
			}
		})
		wg.Wait()
	})
	for _, v := range lab.Suite {
		if v.Traits.MaxWorkers > 0 {
			continue // cannot have a waiter on every processor
		}
		for _, wait := range harness.WaitPolicies {
			b.Run(fmt.Sprintf("lock=%s/wait=%s", v.Name, wait), func(b *testing.B) { benchmarkWaiters(b, v, wait) })
		}
	}
}

func benchmarkWaiters(b *testing.B, v *harness.Variant, wait harness.WaitPolicy) {
	workers := runtime.GOMAXPROCS(0) + 1
	l := v.Local(harness.Setup{Workers: workers, Wait: wait})
	mine := l.Worker(0)
	mine.Lock()
	var wg sync.WaitGroup
	for i := range workers - 1 {
		wg.Go(func() {
			h := l.Worker(i + 1)
			h.Lock()
			//lint:ignore SA2001 the wait is all that it is for
			h.Unlock()
		})
	}
	benchmarkStops(b, b.N, func() {})
	mine.Unlock()
	wg.Wait()
}

// benchmarkStops stops the world n times, after before, and reports median and p99.
func benchmarkStops(b *testing.B, n int, before func()) {
	var stats runtime.MemStats
	took := make([]float64, n)
	for i := range took {
		before()
		time.Sleep(100 * time.Microsecond) // the spinners take all processors
		start := time.Now()
		runtime.ReadMemStats(&stats)
		took[i] = float64(time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(stat.Median(took), "p50-ns/op")
	b.ReportMetric(took[len(took)*99/100], "p99-ns/op")
}
