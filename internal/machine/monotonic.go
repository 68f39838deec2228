package machine

import (
	"math"
	"time"
)

// MonotonicAt returns what [Monotonic] shows at t, which has a monotonic reading and may be
// to come: to a microsecond, unless the thread hardly runs.
func MonotonicAt(t time.Time) int64 {
	return monotonicAt(Monotonic, func() int64 { return int64(time.Until(t)) })
}

// monotonicAt returns what mono shows when left, which another clock of the same speed counts
// down, is 0. A thread that loses its processor between two readings makes the clocks seem
// to differ by more: those readings count that were made in the least time.
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
