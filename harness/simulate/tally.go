//go:build systematic && simulate

package simulate

import (
	"fmt"
	"locklab/internal/stat"
)

// A tally counts a run's acquisitions, in ps, and checks that there is one holder.
// It has one field for each figure of the prediction.
type tally struct {
	s      *sim
	w      Workload
	holder int
	last   int // the holder before
	total  int // acquisitions, including the warm-up

	acquisitions []int64 // by worker
	begun        int64
	end          int64
	base         counters
	left         int64 // end of the last critical section
	handOver     int64
	handed       int64
	longest      int64
	same         int64
	near         int64
	moved        int64
}

func (t *tally) granted(c *core, asked int64) {
	if inside := t.holder != none || t.last != c.id && c.clock < t.left; inside && !t.w.Overlaps {
		other := t.holder
		if other == none {
			other = t.last // it is still working
		}
		t.s.fail(fmt.Errorf("%w: %d and %d, after %d acquisitions", ErrTwoHolders, other, c.id, t.total))
	}
	t.holder = c.id
	if t.total++; t.total == t.w.Warm {
		t.begun, t.base = c.clock, t.s.counts
	}
	if t.total > t.w.Warm {
		t.count(c, asked)
	}
	t.last, t.s.progress = c.id, t.s.now
}

func (t *tally) count(c *core, asked int64) {
	t.acquisitions[c.id]++
	t.longest = max(t.longest, c.clock-asked)
	if t.last == c.id {
		t.same++
		return
	}
	t.moved++
	if t.s.m.socket(c.cache) == t.s.m.socket(t.s.cores[t.last].cache) {
		t.near++
	}
	if asked < t.left {
		t.handOver += c.clock - t.left
		t.handed++
	}
}

func (t *tally) released(c *core) {
	t.holder, t.left, t.end = none, c.clock, c.clock
	if t.total == t.w.Warm+t.w.Acquisitions {
		t.s.halted = true
	}
}

func (t *tally) result() (Result, error) {
	n := max(t.total-t.w.Warm, 1)
	per := func(x int64) float64 { return float64(x) / float64(n) }
	counts := t.s.counts
	r := Result{
		Acquisitions: n, PerAcquisition: per(t.end-t.begun) / 1000,
		Misses: per(counts.Misses - t.base.Misses), Remote: per(counts.Remote - t.base.Remote),
		Invalidated: per(counts.Invalidated - t.base.Invalidated),
		Longest:     float64(t.longest) / 1000, SameWorker: per(t.same), Jain: stat.Jain(t.acquisitions), Steps: t.s.steps,
	}
	if t.handed > 0 {
		r.HandOver = float64(t.handOver) / float64(t.handed) / 1000
	}
	if t.moved > 0 {
		r.SameSocket = float64(t.near) / float64(t.moved)
	}
	switch {
	case t.s.failure != nil:
		return r, t.s.failure
	case !t.s.halted:
		return r, fmt.Errorf("%w for %d ms, after %d acquisitions", ErrStuck, t.s.stuck/1_000_000_000, t.total)
	}
	return r, nil
}
