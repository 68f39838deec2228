package measure

import (
	"sync/atomic"
	"time"

	"locklab/atomics"
)

// A Limit ends a drive: either a time, or a number of acquisitions of all workers.
type Limit struct {
	Window time.Duration
	Ops    int64
	Steady time.Duration // greatest delay of the window until each worker has had the lock

	together *checkpoints // the window begins with it; nil without other ranks
}

// The phases of a drive that is limited by time.
const (
	ramp    uint32 = iota // workers run, nothing is recorded
	measure               // everything counts
	stop                  // workers finish the current batch and leave
)

// A control connects a drive's coordinator and workers, which load it once per batch.
type control struct {
	epoch   time.Time // origin of all times of the drive, which are in ns
	limit   Limit
	batch   int64 // most acquisitions between two loads of the phase
	start   chan struct{}
	all     chan struct{} // has a value when all workers have begun
	entered atomic.Int64  // workers that have begun
	opened  uint64        // clock when the window began; read it in another phase than ramp
	_       atomics.CacheLinePad
	phase   atomic.Uint32
	budget  atomic.Int64 // acquisitions left to hand out, if limited by Ops
	_       atomics.CacheLinePad
}

func newControl(limit Limit, batch int64) *control {
	c := &control{epoch: time.Now(), limit: limit, batch: batch, start: make(chan struct{}), all: make(chan struct{}, 1)}
	c.budget.Store(limit.Ops)
	return c
}

func (c *control) now() int64 { return int64(time.Since(c.epoch)) }

func (c *control) over() bool { return c.phase.Load() == stop }

// next returns a worker's next batch after one of last acquisitions, 0 at the end, and whether
// it is recorded. An acquisition may take nanoseconds or a second, so a batch is at most twice
// the previous one.
func (c *control) next(last int64) (n int64, recorded bool) {
	phase := c.phase.Load()
	if phase == stop {
		return 0, false
	}
	if c.limit.Ops == 0 {
		return min(c.batch, max(1, 2*last)), phase == measure
	}
	left := c.budget.Add(-c.batch) + c.batch
	return max(0, min(c.batch, left)), true
}

func sum(xs []uint64) (total uint64) {
	for _, x := range xs {
		total += x
	}
	return total
}
