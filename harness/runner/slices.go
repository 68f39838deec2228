package runner

import (
	"math"
	"time"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/machine"
)

// A slicer counts what one worker finished in each slice of the window, and for
// how long it finished nothing. The worker reads the clock for that only where it
// checks whether it should stop, and not each time. The zero value counts nothing.
type slicer struct {
	_       atomics.CacheLinePad
	c       *control
	clock   machine.Clock
	every   int64 // batches between two readings of the clock
	left    int64 // of these
	pending uint64

	window  int64    // ns
	counts  []uint32 // of the whole slices of the window
	last    int64    // when the worker checked last: ns since the window began
	longest int64    // ns without an acquisition
	_       atomics.CacheLinePad
}

// start makes s ready for a window of d. It has nothing to count of one worker, of
// a drive that is not limited by time, and of a window shorter than a slice.
func (s *slicer) start(d *drive) {
	window := d.limit.Window
	if len(d.tallies) < 2 || d.limit.Ops > 0 || window < harness.SliceLength {
		return
	}
	*s = slicer{c: d.control, clock: d.rig.in.Clock, every: d.tuning.checkEvery, left: d.tuning.checkEvery,
		window: int64(window), counts: make([]uint32, window/harness.SliceLength)}
}

// add counts a batch that is finished.
func (s *slicer) add(ops uint64, recorded bool) {
	s.pending += ops
	if s.left--; s.left > 0 && recorded || s.c == nil {
		return
	}
	s.check()
}

// check counts what was finished since the check before to the slice of now. What was
// finished before the window began does not count; the batch that was under way
// then does, as it does in the shares of the window.
func (s *slicer) check() {
	n := s.pending
	s.pending, s.left = 0, s.every
	if s.c.phase.Load() != ramp {
		s.count(s.clock.Nanoseconds(s.clock.Now()-s.c.opened), n)
	}
}

// count adds n acquisitions at a time, in ns since the window began.
func (s *slicer) count(at int64, n uint64) {
	s.longest = max(s.longest, min(at, s.window)-s.last)
	s.last = at
	if i := at / int64(harness.SliceLength); i < int64(len(s.counts)) {
		s.counts[i] = uint32(min(uint64(s.counts[i])+n, math.MaxUint32))
	}
}

// addSlices adds to r what the slicers of its workers counted, if they did.
func addSlices(r *harness.Result, workers []*slicer) {
	if len(workers) == 0 || workers[0].counts == nil {
		return
	}
	for i := range workers[0].counts {
		for _, s := range workers {
			r.Slices = append(r.Slices, s.counts[i])
		}
	}
	for _, s := range workers {
		r.Unserved = max(r.Unserved, time.Duration(max(s.longest, s.window-s.last)))
	}
}

// loopSlices adds to r what its workers finished in each slice of a window that
// began at from, by their log. Each of them is in the order in which it acquired.
func loopSlices(r *harness.Result, holds []oracle.Hold, from int64) {
	if len(r.Workers) < 2 || r.Elapsed < harness.SliceLength {
		return
	}
	workers := make([]*slicer, len(r.Workers))
	for i := range workers {
		workers[i] = &slicer{window: int64(r.Elapsed), counts: make([]uint32, r.Elapsed/harness.SliceLength)}
	}
	for _, h := range holds {
		if h.Releasing >= from {
			workers[h.Worker].count(h.Releasing-from, 1)
		}
	}
	addSlices(r, workers)
}

// Checks may cost this share of an acquisition, averaged over all.
const checkShare = 0.005

// checkEvery returns in how many batches a worker reads the clock once, at a rate
// of all workers together, in acquisitions per ns: as if the lock had to wait for
// each reading. A worker then reads it about every 5 µs times the workers.
func checkEvery(clock machine.Clock, rate float64, batch int64) int64 {
	const bookkeeping = 5 // ns
	return max(1, int64(math.Ceil((clock.Floor()+bookkeeping)*rate/checkShare/float64(batch))))
}
