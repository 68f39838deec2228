package measure

import (
	"math"
	"time"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/machine"
)

// A slicer counts one worker's acquisitions in each slice of the window, and its longest time
// without one, at some of its checks. The zero value counts nothing.
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

// start prepares s for d's window. It counts nothing for one worker, or without a whole slice.
func (s *slicer) start(d *drive) {
	window := d.limit.Window
	if len(d.tallies) < 2 || d.limit.Ops > 0 || window < harness.SliceLength {
		return
	}
	*s = slicer{c: d.control, clock: d.rig.in.Clock, every: d.tuning.checkEvery, left: d.tuning.checkEvery,
		window: int64(window), counts: make([]uint32, window/harness.SliceLength)}
}

func (s *slicer) add(ops uint64, recorded bool) {
	s.pending += ops
	if s.left--; s.left > 0 && recorded || s.c == nil {
		return
	}
	s.check()
}

// check counts the acquisitions since the previous check in the current slice. The batch in
// progress at the window's start counts.
func (s *slicer) check() {
	n := s.pending
	s.pending, s.left = 0, s.every
	if s.c.phase.Load() != ramp {
		s.count(s.clock.Nanoseconds(s.clock.Now()-s.c.opened), n)
	}
}

func (s *slicer) count(at int64, n uint64) {
	s.longest = max(s.longest, min(at, s.window)-s.last)
	s.last = at
	if i := at / int64(harness.SliceLength); i < int64(len(s.counts)) {
		s.counts[i] = uint32(min(uint64(s.counts[i])+n, math.MaxUint32))
	}
}

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

// loopSlices adds the slices of a window from from to r, by the holds of each worker in order.
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

// checkEvery returns the batches between a worker's readings of the clock, at a total rate per
// ns, as if the lock waited for each: about every 5 µs times the workers.
func checkEvery(clock machine.Clock, rate float64, batch int64) int64 {
	const bookkeeping = 5 // ns
	return max(1, int64(math.Ceil((clock.Floor()+bookkeeping)*rate/checkShare/float64(batch))))
}
