package runner

import (
	"math"

	"locklab/internal/machine"
)

// A sampler draws which acquisitions are timed: each with the chance of one in
// every, whatever became of the others. So no order of service can keep step
// with the samples, as it can with every 2^k-th acquisition: of eight workers
// that take the lock in rotation that would time the same pair every time. An
// acquisition that is not timed pays one comparison, because what is drawn is
// the number of acquisitions to the next timed one, which is geometric. To
// sample by number and not by time is what keeps long waits from being seen
// more often than there are.
type sampler struct {
	rng   *machine.Random
	scale float64 // the mean of the exponential distribution whose whole part is that of the gaps, less one
}

// newSampler returns the sampler of a worker of d, and with -1 one more.
func newSampler(d *drive, worker int) sampler {
	return samplerOf(d.tuning.sampleEvery, d.rig.job.Seed+uint64(worker))
}

func samplerOf(every int, seed uint64) sampler {
	// The spans of the workload are drawn from the seed as it is.
	const apart = 0x6a09e667f3bcc908
	return sampler{machine.NewRandom(seed ^ apart), -1 / math.Log1p(-1/float64(every))}
}

// gap returns how many acquisitions there are from one that is timed to the
// next, 1 if it is the very next: 1 + ⌊E/-ln(1-p)⌋ is geometric with the chance
// p if E is exponential with mean 1. Source: L. Devroye, "Non-Uniform Random
// Variate Generation", 1986, §X.2.
func (s *sampler) gap() uint64 { return 1 + uint64(s.rng.Exp(s.scale)) }
