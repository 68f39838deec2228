package hardware

import (
	"context"
	"locklab/internal/stat"
	"time"
)

// timed runs op on a thread on each of cpus for about span and returns the time of one operation
// in ns; op does n of them, so many that reading the clock does not count. The result is the
// median over windows of the threads' mean, which ignores a few preemptions.
func timed(ctx context.Context, cpus []int, span time.Duration, op func(thread, n int)) (float64, error) {
	c, err := newPinnedThreads(cpus...)
	if err != nil {
		return 0, err
	}
	defer c.close()
	const window = 5 * time.Millisecond
	var windows []float64
	err = during(ctx, span, func() {
		each := make([]float64, len(c.jobs))
		c.step(func(i int) { each[i] = perOperation(min(span, window), batch, func(n int) { op(i, n) }) })
		windows = append(windows, mean(each))
	})
	return stat.Median(windows), err
}

// batch is the number of operations between two readings of the clock.
const batch = 4096

func perOperation(span time.Duration, batch int, op func(n int)) float64 {
	ops, took := 0, time.Duration(0)
	for start := time.Now(); ops == 0 || took < span; took = time.Since(start) {
		op(batch)
		ops += batch
	}
	return float64(took) / float64(ops)
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
