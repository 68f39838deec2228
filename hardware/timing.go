package hardware

import (
	"context"
	"locklab/internal/stat"
	"time"
)

// timed runs op on every thread of c for about span and returns the time of one operation
// in ns. op does n operations; n is so large that reading the clock does not count.
//
// The span is divided into windows in which all threads run. A window's figure is the
// mean of the threads, and the result the median of the windows, so that a few windows
// with a preempted thread do not count.
func timed(ctx context.Context, c *pinnedThreads, span time.Duration, op func(thread, n int)) (float64, error) {
	const (
		batch  = 4096
		window = 5 * time.Millisecond
	)
	var windows []float64
	for start := time.Now(); len(windows) == 0 || time.Since(start) < span; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		each := make([]float64, len(c.jobs))
		c.step(func(i int) {
			var took time.Duration
			ops := 0
			for start := time.Now(); took < min(span, window); took = time.Since(start) {
				op(i, batch)
				ops += batch
			}
			each[i] = float64(took) / float64(ops)
		})
		windows = append(windows, mean(each))
	}
	return stat.Median(windows), nil
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// ratios returns a[i]/b[i], the ratio within each repeat: a slow repeat cancels out.
func ratios(a, b []float64) []float64 {
	r := make([]float64, min(len(a), len(b)))
	for i := range r {
		r[i] = a[i] / b[i]
	}
	return r
}
