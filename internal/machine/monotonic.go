package machine

import (
	"math"
	"time"
)

// MonotonicAt returns the value of [Monotonic] at t, to a microsecond unless the thread hardly
// runs. T must have a monotonic reading and may be in the future.
func MonotonicAt(t time.Time) int64 {
	return monotonicAt(Monotonic, func() int64 { return int64(time.Until(t)) })
}

// monotonicAt returns mono when left, which counts down, reaches 0. It uses the quickest
// readings: a preempted thread makes the clocks seem to differ.
func monotonicAt(mono, left func() int64) (at int64) {
	const tries, enough = 1000, int64(time.Microsecond)
	least := int64(math.MaxInt64)
	for i := 0; i < tries && least > enough; i++ {
		before := mono()
		n := left()
		if took := mono() - before; took < least {
			least, at = took, before+took/2+n
		}
	}
	return at
}
