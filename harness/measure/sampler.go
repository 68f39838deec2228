package measure

import (
	"math"

	"locklab/internal/machine"
)

// A sampler chooses the acquisitions to time, each independently with the same probability. So
// no order of service stays in step with the samples, as with every 2^k-th.
//
// It draws the number of acquisitions to the next timed one, which is geometric, so that
// others cost one comparison. Sampling by time would prefer long waits.
type sampler struct {
	rng   *machine.Random
	scale float64 // the mean of the exponential distribution whose integer part is distributed as the gaps, less one
}

func newSampler(d *drive, worker int) sampler {
	return samplerOf(d.tuning.sampleEvery, d.rig.job.Seed+uint64(worker))
}

func samplerOf(every int, seed uint64) sampler {
	// The spans of the workload are drawn from the unchanged seed.
	const apart = 0x6a09e667f3bcc908
	return sampler{machine.NewRandom(seed ^ apart), -1 / math.Log1p(-1/float64(every))}
}

// gap returns the number of acquisitions from a timed one to the next, 1 if it directly
// follows: 1 + ⌊E/-ln(1-p)⌋ is geometric with the chance p if E is exponential with mean 1.
// Source: L. Devroye, "Non-Uniform Random Variate Generation", 1986, §X.2.
func (s *sampler) gap() uint64 { return 1 + uint64(s.rng.Exp(s.scale)) }
