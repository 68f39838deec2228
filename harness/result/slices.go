package result

import (
	"iter"
	"slices"
	"time"

	"locklab/harness"
)

// The time scales of fairness: the shortest windows of a budget, for local and for
// distributed locks, so that every window has a slice.
const (
	localScale  = harness.SliceLength
	remoteScale = 3 * harness.SliceLength
)

func scale(r *harness.Result) time.Duration {
	if r.Lock.Traits.Needs != "" {
		return remoteScale
	}
	return localScale
}

// sliced yields each worker's acquisitions in each slice of r with the length of its time
// scale; the slice is reused. It yields nothing with fewer than two workers, or if the
// data of r are inconsistent.
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
