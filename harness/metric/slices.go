package metric

import (
	"iter"
	"slices"
	"time"

	"locklab/harness"
)

// The time scales of fairness: the shortest windows that a budget takes, of locks in
// this process and of those that servers keep, so that every window has one.
const (
	localScale  = harness.SliceLength
	remoteScale = 3 * harness.SliceLength
)

// scale returns the time scale of the fairness of r.
func scale(r *harness.Result) time.Duration {
	if r.Lock.Traits.Needs != "" {
		return remoteScale
	}
	return localScale
}

// sliced yields what each worker finished in each slice of r that lasts its time
// scale, in a slice that is reused. There are none with fewer than two workers, nor if
// r does not hold what it says.
func sliced(r *harness.Result) iter.Seq[[]float64] {
	return func(yield func([]float64) bool) {
		workers := len(r.Workers)
		if workers < 2 || len(r.Slices)%workers != 0 {
			return
		}
		counts := make([]float64, workers)
		whole := workers * int(scale(r)/harness.SliceLength)
		for block := range slices.Chunk(r.Slices, whole) {
			if len(block) < whole {
				return
			}
			clear(counts)
			for i, n := range block {
				counts[i%workers] += float64(n)
			}
			if !yield(counts) {
				return
			}
		}
	}
}
