package machine

import (
	"math"
	"math/rand/v2"
	"time"

	"locklab/atomics"
	"locklab/internal/stat"
)

// Work is CPU work of known length: it converts times to iterations of [Do], at the speed of
// the calibration. A lower clock rate or a busy sibling thread makes them last longer. The
// zero value returns 0 iterations. It is immutable and may be shared.
type Work struct {
	perNs float64 // iterations in one nanosecond
}

// CalibrateWork measures Do with c, in about 10 ms: 5 ms to bring the processor to speed, then the
// median of many short spans, to ignore preemption.
func CalibrateWork(c Clock) Work {
	const iterations, samples = 20_000, 201
	for start := time.Now(); time.Since(start) < 5*time.Millisecond; {
		Do(iterations)
	}
	spans := make([]float64, samples)
	for i := range spans {
		start := c.Now()
		Do(iterations)
		spans[i] = float64(c.Nanoseconds(c.Now() - start))
	}
	return Work{perNs: iterations / max(1, stat.Median(spans))}
}

// Iterations returns how many iterations of Do take d: 0 for d <= 0, else at least 1. It does not
// fall as d grows. It ignores the call of Do, about 2 ns.
func (w Work) Iterations(d time.Duration) int {
	if d <= 0 || w.perNs <= 0 {
		return 0
	}
	return int(max(1, min(float64(d)*w.perNs+0.5, math.MaxInt/2)))
}

// Do keeps the processor busy for n iterations of about 1 ns each, or none for n <= 0. It
// touches no memory and may be preempted.
//
// An iteration is one multiplication that depends on the previous result: its latency hardly
// depends on alignment or a sibling thread. An out-of-order processor may begin the code after
// Do tens of ns early, but cannot free a lock early: a store is visible only after all earlier
// instructions.
//
//go:noinline
func Do(iterations int) {
	x := uint64(iterations) | 1
	for range iterations {
		x *= 6364136223846793005
	}
	// Nothing needs x, but the compiler does not know that odd numbers have an
	// odd product, so it cannot drop the multiplications.
	if x == 0 {
		panic("machine: the product of odd numbers is even")
	}
}

// Random is a source of random numbers for one goroutine, without a lock or allocations, alone
// in its cache lines. Get it from [NewRandom]; do not copy it. The generator is SplitMix64
// (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
type Random struct {
	_     atomics.CacheLinePad
	state uint64
	shape *rand.Rand // gives the numbers of this source other distributions
	_     atomics.CacheLinePad
}

// NewRandom returns a source. Neighbouring seeds give unrelated numbers.
func NewRandom(seed uint64) *Random {
	r := &Random{state: seed}
	r.shape = rand.New(r)
	return r
}

// Uint64 returns 64 random bits.
func (r *Random) Uint64() uint64 {
	r.state += 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Exp returns a positive number from the exponential distribution with the given mean. The ziggurat
// of math/rand/v2 takes 5 ns, a logarithm 11 ns, and a worker spends it while it holds the lock.
func (r *Random) Exp(mean float64) float64 { return mean * r.shape.ExpFloat64() }
