package machine

import (
	"math"
	"time"
)

// MonotonicAt returns the value of [Monotonic] at t, which has a monotonic reading and
// may be in the future. It is accurate to a microsecond, unless the thread hardly runs.
func MonotonicAt(t time.Time) int64 {
	return monotonicAt(Monotonic, func() int64 { return int64(time.Until(t)) })
}

// monotonicAt returns the value of mono when left, which another clock of the same speed
// counts down, is 0. A thread that loses its processor between two readings increases the
// apparent difference of the clocks, so the fastest readings count.
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
