package runner

import (
	"math/bits"

	"locklab/harness"
)

// Timing may cost this share of an acquisition, averaged over all.
const timingShare = 0.05

// maxBatch is the most acquisitions between two loads of the control's phase.
const maxBatch = 64

// A tuning is what a drive chooses by the rate of the one before.
type tuning struct {
	sampleEvery int    // one acquisition in so many is timed: a power of two, so that rounds that differ little weigh alike
	batch       int64  // most acquisitions between two loads of the control's phase
	checkEvery  int64  // a worker reads the clock once in so many batches, for the slices
	expected    uint64 // acquisitions, about
}

func (r *Rig) tune(limit Limit) tuning {
	if r.job.Lock.Remote != nil {
		return tuning{sampleEvery: 1, batch: 1, checkEvery: 1} // an acquisition takes much longer than a clock reading
	}
	t := tuning{sampleEvery: maxBatch, batch: maxBatch, checkEvery: 1, expected: uint64(limit.Ops)}
	rate := r.rate
	if rate == 0 { // so few were asked for that none came before
		rate = float64(r.job.Workload.Rate) / 1e9
	}
	if rate == 0 {
		return t
	}
	period := float64(r.job.Workload.Workers) / rate // ns, of one worker
	t.sampleEvery = powerOfTwo((r.timedInside()*rate + r.timedOutside()/period) / timingShare)
	if limit.Ops == 0 {
		t.expected = uint64(rate * float64(limit.Window) * 1.25)
		t.batch = max(1, min(maxBatch, int64(float64(min(limit.Window, harness.SliceLength))*0.002/period)))
		t.checkEvery = checkEvery(r.in.Clock, rate, t.batch)
	}
	return t
}

// draw is about how long it takes to draw which acquisition is timed next, in ns.
const draw = 5

// timedInside returns about how much longer timing makes a hold, in ns: of a
// sampled acquisition the reading after the grant and that before the release,
// and the same two of a sampled hand-over, after which the next one is drawn.
// It delays all workers, so it is to be compared with the time from one
// acquisition to the next.
func (r *Rig) timedInside() float64 { return 4*r.in.Clock.Floor() + draw }

// timedOutside returns about how much longer timing makes a sampled acquisition
// outside the section, in ns: the reading before the request and the
// bookkeeping, and if there is think time, the readings around that. It delays
// one worker.
func (r *Rig) timedOutside() float64 {
	const bookkeeping = 15 + draw
	readings := 1.0
	if r.job.Workload.Think.Mean > 0 {
		readings += 2
	}
	return readings*r.in.Clock.Floor() + bookkeeping
}

// powerOfTwo returns the least power of two that is at least x, from 1 to 1024.
func powerOfTwo(x float64) int {
	n := max(1, min(1024, int(x+0.999)))
	return 1 << bits.Len(uint(n-1))
}
