package measure

import (
	"math"
	"slices"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
)

const ms = int64(time.Millisecond)

func slicersOf(workers int, window time.Duration) []*slicer {
	out := make([]*slicer, workers)
	for i := range out {
		out[i] = &slicer{window: int64(window), counts: make([]uint32, window/harness.SliceLength)}
	}
	return out
}

func TestSlices(t *testing.T) {
	ws := slicersOf(2, 70*time.Millisecond)
	for _, x := range []struct {
		worker int
		at     int64
		n      uint64
	}{
		{0, 0, 1}, {0, 20*ms - 1, 2}, {0, 20 * ms, 3}, {0, 59 * ms, 4}, {0, 60 * ms, 5}, {0, 71 * ms, 6}, // the rest is not a full slice
		{1, 39 * ms, 1 << 31}, {1, 39 * ms, 1 << 31}, // more than a count can hold
	} {
		ws[x.worker].count(x.at, x.n)
	}
	r := &harness.Result{Workers: make([]uint64, 2)}
	addSlices(r, ws)
	if want := []uint32{3, 0, 3, math.MaxUint32, 4, 0}; !slices.Equal(r.Slices, want) {
		t.Errorf("slices %v, want %v", r.Slices, want)
	}
	// Worker 0 was silent from 20 to 59 ms and worker 1 from 0 to 39 ms: both are 39 ms.
	if want := 39 * time.Millisecond; r.Unserved != want {
		t.Errorf("unserved for %v, want %v", r.Unserved, want)
	}
	ws[1].last = 10 * ms // so it completed nothing in the last 60
	if addSlices(r, ws); r.Unserved != 60*time.Millisecond {
		t.Errorf("unserved for %v to the end, want 60ms", r.Unserved)
	}
}

// TestSlicerReadsSeldom: a worker reads the clock once in every batches. Until the window
// begins it reads after each batch, so that only the batch in progress counts.
func TestSlicerReadsSeldom(t *testing.T) {
	c := newControl(Limit{Window: time.Second}, 1)
	clock := instruments().Clock
	s := &slicer{c: c, clock: clock, every: 3, left: 3, window: int64(time.Second), counts: make([]uint32, 50)}
	s.add(7, false)
	s.add(7, false)
	if s.last != 0 || s.longest != 0 {
		t.Errorf("checked at %d, unserved for %d before the window", s.last, s.longest)
	}
	c.opened = clock.Now()
	c.phase.Store(measure)
	s.add(1, false) // it was in progress
	counted := func() (n uint32) {
		for _, k := range s.counts {
			n += k
		}
		return n
	}
	for i, want := range []uint32{1, 1, 1, 1 + 2 + 4 + 8, 15, 15, 15 + 16 + 32 + 64} {
		if i > 0 {
			s.add(1<<i, true)
		}
		if got := counted(); got != want {
			t.Errorf("after %d batches %d are counted, want %d", i, got, want)
		}
	}
	if got := checkEvery(clock, 0, 64); got != 1 {
		t.Errorf("before the rate is known: every %d batches, want 1", got)
	}
	// 20 ns per acquisition: readings of F+5 ns are half a percent after (F+5)·10.
	want := int64(math.Ceil((clock.Floor() + 5) * 10 / 64))
	if got := checkEvery(clock, 1./20, 64); got != want {
		t.Errorf("every %d batches, want %d", got, want)
	}
	new(slicer).add(1, true) // counts nothing
}

func inSlices(r *harness.Result) (n uint64) {
	for _, k := range r.Slices {
		n += uint64(k)
	}
	return n
}

// fewer reports whether n is under half of r's acquisitions in the planned window.
func fewer(r *harness.Result, n uint64, window time.Duration) bool {
	underway := uint64(len(r.Workers) * 2 * maxBatch)
	return 2*(n+underway)*uint64(r.Elapsed) < r.Ops*uint64(window)
}

// TestSlicesOfOthers: every other loop has slices too; a single worker has none.
func TestSlicesOfOthers(t *testing.T) {
	const window = 2 * harness.SliceLength
	local := good
	for name, c := range map[string]struct {
		v    *harness.Variant
		w    harness.Workload
		want int
	}{
		"one worker": {local, harness.Workload{Workers: 1}, 0},
		"readers":    {local, harness.Workload{Workers: 2, Reads: 50}, 4},
		"two locks":  {local, harness.Workload{Workers: 2, Locks: 2}, 4},
		"a server":   {new(shelf).variant(harness.Traits{}), harness.Workload{Workers: 2}, 4},
	} {
		c.w.Window = window
		rig := openRig(t, Job{Lock: c.v, Workload: c.w, At: harness.Endpoint{Kind: harness.KindRedis}})
		r, err := rig.Drive(t.Context(), Limit{Window: window})
		if err != nil || len(r.Slices) != c.want || (r.Unserved > 0) != (c.want > 0) {
			t.Errorf("%s: %v (unserved for %v), want %d counts: %v", name, r.Slices, r.Unserved, c.want, err)
		}
		if n := inSlices(r); c.want > 0 && fewer(r, n, window) {
			t.Errorf("%s: slices have %d, the window has %d in %v", name, n, r.Ops, r.Elapsed)
		}
	}
	r := &harness.Result{Workers: make([]uint64, 2), Elapsed: 45 * time.Millisecond}
	loopSlices(r, []oracle.Hold{{Worker: 0, Releasing: 9 * ms}, {Worker: 1, Releasing: 10 * ms}, {Worker: 1, Releasing: 29 * ms},
		{Worker: 1, Releasing: 30 * ms}, {Worker: 0, Releasing: 31 * ms}, {Worker: 1, Releasing: 51 * ms}}, 10*ms)
	if want := []uint32{0, 2, 1, 1}; !slices.Equal(r.Slices, want) || r.Unserved != 24*time.Millisecond {
		t.Errorf("slices %v, unserved for %v; want %v and 24ms", r.Slices, r.Unserved, want)
	}
}
