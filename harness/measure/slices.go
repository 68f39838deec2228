package measure

import (
	"math"
	"time"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/machine"
)

// A slicer counts the acquisitions of one worker in each slice of the window, and its
// longest time without one. The worker reads the clock for this only at some of its checks
// for the end. The zero value counts nothing.
type slicer struct {
	_       atomics.CacheLinePad
	c       *control
	clock   machine.Clock
	every   int64 // batches between two readings of the clock
	left    int64 // batches until the next reading
	pending uint64

	window  int64    // ns
	counts  []uint32 // of the whole slices of the window
	last    int64    // time of the last check: ns since the start of the window
	longest int64    // ns without an acquisition
	_       atomics.CacheLinePad
}

// start prepares s for a window of d. It counts nothing for one worker, for a drive that is
// not limited by time, and for a window shorter than a slice.
func (s *slicer) start(d *drive) {
	window := d.limit.Window
	if len(d.tallies) < 2 || d.limit.Ops > 0 || window < harness.SliceLength {
		return
	}
	*s = slicer{c: d.control, clock: d.rig.in.Clock, every: d.tuning.checkEvery, left: d.tuning.checkEvery,
		window: int64(window), counts: make([]uint32, window/harness.SliceLength)}
}

// add counts a completed batch.
func (s *slicer) add(ops uint64, recorded bool) {
	s.pending += ops
	if s.left--; s.left > 0 && recorded || s.c == nil {
		return
	}
	s.check()
}

// check counts the acquisitions since the previous check in the current slice. Those
// completed before the window do not count; the batch in progress at its start does, as in
// the shares of the window.
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

// addSlices adds the counts of the slicers to r, if there are any.
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

// loopSlices adds to r the acquisitions of its workers in each slice of a window that began
// at from, by their log. Each worker's holds are in the order of acquisition.
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

// checkEvery returns the number of batches between a worker's readings of the clock, for a
// total rate of all workers in acquisitions per ns. It assumes that the lock waits for each
// reading. A worker then reads it about every 5 µs times the workers.
func checkEvery(clock machine.Clock, rate float64, batch int64) int64 {
	const bookkeeping = 5 // ns
	return max(1, int64(math.Ceil((clock.Floor()+bookkeeping)*rate/checkShare/float64(batch))))
}
