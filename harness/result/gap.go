package result

// The gaps are the numbers of acquisitions by others between two acquisitions of a
// worker, weighted by time. Pick a worker and a moment at random: half of the time the
// gap around it is no longer than the median. Strict rotation gives workers-1. A worker
// that never appears in a burst waited for at least the whole burst, and counts as that.
// So a figure cannot exceed the length of a burst, and means "at least" if it reaches it.
//
// Source: the "starve" of BenchmarkMutexCapture in the Go runtime
// (runtime/runtime_test.go). It also weights by time, over whole threads, and converts to
// ns by the mean time of an acquisition. Its percentiles are the lower bounds of powers
// of two; these are exact, and in acquisitions.
var (
	GapP50 = short("gap-p50", "gap-p50",
		"half of the workers' time falls into waits no longer than this, in acquisitions by others",
		"Go runtime, BenchmarkMutexCapture", Lower,
		func(log owners) (float64, bool) { return weighted(gaps(log), 0.5), true })
	GapP99 = short("gap-p99", "gap-p99",
		"99 % of the workers' time falls into waits no longer than this, in acquisitions by others",
		"Go runtime, BenchmarkMutexCapture", Lower,
		func(log owners) (float64, bool) { return weighted(gaps(log), 0.99), true })
)

func gaps(log owners) (lengths []int) {
	add := func(n int) {
		if n > 0 {
			lengths = append(lengths, n)
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
	return lengths
}
