package metric

// GapP99 is the 99th percentile of starvation, weighted by time: pick a worker
// and a moment at random; how many acquisitions by others go by between the
// worker's turns around that moment? Strict rotation gives workers-1. A worker
// that never appears in a burst waited for at least the whole burst, and counts
// as that, so the figure cannot exceed the length of a burst.
//
// Source: the "starve" of BenchmarkMutexCapture in the Go runtime
// (runtime/runtime_test.go).
var GapP99 = short("gap-p99", "gap-p99",
	"99 % of the workers' time falls into waits no longer than this, in acquisitions by others",
	"Go runtime, BenchmarkMutexCapture", Lower,
	func(log owners) (float64, bool) {
		var gaps []int
		add := func(n int) {
			if n > 0 {
				gaps = append(gaps, n)
			}
		}
		for burst := range log.bursts() {
			last := make([]int, log.workers) // 1 + where each worker was last seen
			for i, id := range burst {
				add(i - last[id])
				last[id] = i + 1
			}
			for _, seen := range last {
				add(len(burst) - seen)
			}
		}
		return weighted(gaps, 0.99), true
	})
