package measure

import (
	"math/bits"

	"locklab/harness"
)

// Timing may cost this share of an acquisition, averaged over all.
const timingShare = 0.05

// maxBatch is the most acquisitions between two loads of the control's phase.
const maxBatch = 64

// A tuning is the parameters of a drive, chosen by the rate of the previous one.
type tuning struct {
	sampleEvery int    // one in this many acquisitions is timed: a power of two, so that similar rounds have equal weight
	batch       int64  // most acquisitions between two loads of the control's phase
	checkEvery  int64  // batches between two readings of the clock for the slices
	expected    uint64 // acquisitions, approximately
}

func (r *Rig) tune(limit Limit) tuning {
	if r.job.Lock.Remote != nil {
		return tuning{sampleEvery: 1, batch: 1, checkEvery: 1} // an acquisition takes much longer than a clock reading
	}
	t := tuning{sampleEvery: maxBatch, batch: maxBatch, checkEvery: 1, expected: uint64(limit.Ops)}
	rate := r.rate
	if rate == 0 { // too few requests for any
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

// draw is the approximate time, in ns, to choose the next timed acquisition.
const draw = 5

// timedInside returns the time, in ns, that timing adds to a hold: two readings of a sampled
// acquisition and of a sampled handover, and a draw. It delays all workers.
func (r *Rig) timedInside() float64 { return 4*r.in.Clock.Floor() + draw }

// timedOutside returns the time, in ns, that timing adds outside the section, with readings
// around think time. It delays one worker.
func (r *Rig) timedOutside() float64 {
	const bookkeeping = 15 + draw
	readings := 1.0
	if r.job.Workload.Think.Mean > 0 {
		readings += 2
	}
	return readings*r.in.Clock.Floor() + bookkeeping
}

func powerOfTwo(x float64) int {
	n := max(1, min(1024, int(x+0.999)))
	return 1 << bits.Len(uint(n-1))
}
