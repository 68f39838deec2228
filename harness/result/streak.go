package result

// The streaks are the numbers of consecutive acquisitions by the same worker, weighted by
// time. The median is the length of the run around a random moment. A lock that is handed
// over every time has 1. A streak is cut by an end of a burst of the log, so a figure of
// the length of a burst means "at least".
//
// Source: the "streak" of BenchmarkMutexCapture in the Go runtime
// (runtime/runtime_test.go). It also weights by time and converts to ns by the mean time
// of an acquisition. Its percentiles are the lower bounds of powers of two; these are
// exact, and in acquisitions.
var (
	StreakP50 = short("streak-p50", "streak-p50",
		"half of the time falls into runs by one worker no longer than this, in acquisitions",
		"Go runtime, BenchmarkMutexCapture", "",
		func(log owners) (float64, bool) { return weighted(streaks(log), 0.5), true })
	StreakP99 = short("streak-p99", "streak-p99",
		"99 % of the time falls into runs by one worker no longer than this, in acquisitions",
		"Go runtime, BenchmarkMutexCapture", "",
		func(log owners) (float64, bool) { return weighted(streaks(log), 0.99), true })
)

func streaks(log owners) (lengths []int) {
	for burst := range log.bursts() {
		start := 0
		for i := 1; i <= len(burst); i++ {
			if i == len(burst) || burst[i] != burst[start] {
				lengths = append(lengths, i-start)
				start = i
			}
		}
	}
	return lengths
}
