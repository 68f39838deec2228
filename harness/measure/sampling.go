package measure

import (
	"math"
	"math/bits"
	"time"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
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

// Timing may cost this share of an acquisition, averaged over all.
const timingShare = 0.05

// maxBatch is the most acquisitions between two loads of the control's phase.
const maxBatch = 64

// A tuning is the parameters of a drive, chosen by the rate of the previous one.
type tuning struct {
	sampleEvery int    // one in this many acquisitions is timed: a power of two, so that similar rounds have equal weight
	batch       int64  // most acquisitions between two loads of the control's phase
	checkEvery  int64  // batches between two readings of the clock for the buckets
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
		t.batch = max(1, min(maxBatch, int64(float64(min(limit.Window, harness.BucketLength))*0.002/period)))
		t.checkEvery = checkEvery(r.in.Clock, rate, t.batch)
	}
	return t
}

// draw is the approximate time, in ns, to choose the next timed acquisition.
const draw = 5

// timedInside returns the time, in ns, that timing adds to a hold: two readings of a sampled
// acquisition and of a sampled handover, and a draw. It delays all workers.
func (r *Rig) timedInside() float64 { return 4*r.in.Clock.Floor + draw }

// timedOutside returns the time, in ns, that timing adds outside the section, with readings
// around think time. It delays one worker.
func (r *Rig) timedOutside() float64 {
	const bookkeeping = 15 + draw
	readings := 1.0
	if r.job.Workload.Think.Mean > 0 {
		readings += 2
	}
	return readings*r.in.Clock.Floor + bookkeeping
}

func powerOfTwo(x float64) int {
	n := max(1, min(1024, int(x+0.999)))
	return 1 << bits.Len(uint(n-1))
}

// A bucketCounter counts one worker's acquisitions in each bucket of the window, and its longest time
// without one, at some of its checks. The zero value counts nothing.
type bucketCounter struct {
	_       atomics.CacheLinePad
	c       *control
	clock   machine.Clock
	every   int64 // batches between two readings of the clock
	left    int64 // batches until the next reading
	pending uint64

	window  int64    // ns
	counts  []uint32 // of the whole buckets of the window
	last    int64    // time of the last check: ns since the start of the window
	longest int64    // ns without an acquisition
	_       atomics.CacheLinePad
}

func (s *bucketCounter) start(d *drive) {
	window := d.limit.Window
	if len(d.tallies) < 2 || d.limit.Ops > 0 || window < harness.BucketLength {
		return
	}
	*s = bucketCounter{c: d.control, clock: d.rig.in.Clock, every: d.tuning.checkEvery, left: d.tuning.checkEvery,
		window: int64(window), counts: make([]uint32, window/harness.BucketLength)}
}

func (s *bucketCounter) add(ops uint64, recorded bool) {
	s.pending += ops
	if s.left--; s.left > 0 && recorded || s.c == nil {
		return
	}
	s.check()
}

// check counts the batch in progress at the window's start.
func (s *bucketCounter) check() {
	n := s.pending
	s.pending, s.left = 0, s.every
	if s.c.phase.Load() != ramp {
		s.count(s.clock.Nanoseconds(s.clock.Now()-s.c.opened), n)
	}
}

func (s *bucketCounter) count(at int64, n uint64) {
	s.longest = max(s.longest, min(at, s.window)-s.last)
	s.last = at
	if i := at / int64(harness.BucketLength); i < int64(len(s.counts)) {
		s.counts[i] = uint32(min(uint64(s.counts[i])+n, math.MaxUint32))
	}
}

func addBuckets(r *result.Result, workers []*bucketCounter) {
	if len(workers) == 0 || workers[0].counts == nil {
		return
	}
	for i := range min(len(workers[0].counts), result.MaxNumbers/len(workers)) {
		for _, s := range workers {
			r.BucketCounts = append(r.BucketCounts, s.counts[i])
		}
	}
	for _, s := range workers {
		r.Unserved = max(r.Unserved, time.Duration(max(s.longest, s.window-s.last)))
	}
}

// loopBuckets adds the buckets of a window from from to r, by the holds of each worker in order.
func loopBuckets(r *result.Result, holds []oracle.Hold, from int64) {
	if len(r.Workers) < 2 || r.Elapsed < harness.BucketLength {
		return
	}
	workers := make([]*bucketCounter, len(r.Workers))
	for i := range workers {
		workers[i] = &bucketCounter{window: int64(r.Elapsed), counts: make([]uint32, r.Elapsed/harness.BucketLength)}
	}
	for _, h := range holds {
		if h.Releasing >= from {
			workers[h.Worker].count(h.Releasing-from, 1)
		}
	}
	addBuckets(r, workers)
}

// Checks may cost this share of an acquisition, averaged over all.
const checkShare = 0.005

// checkEvery returns the batches between a worker's readings of the clock, at a total rate per
// ns, as if the lock waited for each: about every 5 µs times the workers.
func checkEvery(clock machine.Clock, rate float64, batch int64) int64 {
	const bookkeeping = 5 // ns
	return max(1, int64(math.Ceil((clock.Floor+bookkeeping)*rate/checkShare/float64(batch))))
}
