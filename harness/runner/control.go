package runner

import (
	"sync/atomic"
	"time"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/recorder"
)

// A Limit says when a drive ends: after a time, or after a number of
// acquisitions shared by all workers. Exactly one is set.
type Limit struct {
	Window time.Duration
	Ops    int64
}

// The phases of a drive that is limited by time.
const (
	ramp    uint32 = iota // workers run, nothing is recorded
	measure               // everything counts
	stop                  // workers finish the batch at hand and leave
)

// A control is how the coordinator of a drive and its workers talk. Workers
// look at it once a batch, not once a turn.
type control struct {
	epoch   time.Time // all times of the drive are ns since then
	limit   Limit
	batch   int64 // turns between two looks
	start   chan struct{}
	entered atomic.Int64 // workers that have begun
	_       atomics.CacheLinePad
	phase   atomic.Uint32
	budget  atomic.Int64 // turns left to hand out, if limited by Ops
	_       atomics.CacheLinePad
}

func newControl(limit Limit, batch int64) *control {
	c := &control{epoch: time.Now(), limit: limit, batch: batch, start: make(chan struct{})}
	c.budget.Store(limit.Ops)
	return c
}

// now returns ns on the monotonic clock since the drive was set up.
func (c *control) now() int64 { return int64(time.Since(c.epoch)) }

// next hands a worker its next batch: how many turns, 0 at the end, and
// whether they are recorded.
func (c *control) next() (turns int64, recorded bool) {
	phase := c.phase.Load()
	if phase == stop {
		return 0, false
	}
	if c.limit.Ops == 0 {
		return c.batch, phase == measure
	}
	left := c.budget.Add(-c.batch) + c.batch
	return max(0, min(c.batch, left)), true
}

// A tally is what one worker publishes while it runs, and leaves at the end.
type tally struct {
	_         atomics.CacheLinePad
	ops       atomic.Uint64 // acquisitions so far, published once a batch
	handovers atomic.Uint64 // those whose predecessor was another worker
	left      atomic.Bool
	_         atomics.CacheLinePad

	begin, end  int64         // ns since epoch, in the loop
	hold, think harness.Spans // of timed turns
	wait        recorder.Histogram
	handover    recorder.Histogram
	_           atomics.CacheLinePad
}

// publish adds a batch to what the coordinator can see.
func (t *tally) publish(ops, handovers uint64) {
	// Only this worker writes, so a load and a store will do.
	t.ops.Store(t.ops.Load() + ops)
	t.handovers.Store(t.handovers.Load() + handovers)
}

// A snapshot is the tallies at one time.
type snapshot struct {
	at             int64 // ns since epoch
	ops, handovers []uint64
}

// newSnapshot makes room for n tallies.
func newSnapshot(n int) snapshot {
	return snapshot{ops: make([]uint64, n), handovers: make([]uint64, n)}
}

// take reads the tallies. It allocates nothing: it is part of the window.
func (s *snapshot) take(c *control, ts []*tally) {
	s.at = c.now()
	for i, t := range ts {
		s.ops[i], s.handovers[i] = t.ops.Load(), t.handovers.Load()
	}
}

// published returns how many acquisitions ts have published.
func published(ts []*tally) (total uint64) {
	for _, t := range ts {
		total += t.ops.Load()
	}
	return total
}

func sum(xs []uint64) (total uint64) {
	for _, x := range xs {
		total += x
	}
	return total
}
