package runner

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
)

// TestBatchesGrow: until a lock's speed is known a worker looks at the control
// after one turn, then after two.
func TestBatchesGrow(t *testing.T) {
	for _, c := range []struct {
		tuning tuning
		want   []int64
	}{
		{tuning{batch: 64, first: 1}, []int64{1, 2, 4, 8, 16, 32, 64, 64}},
		{tuning{batch: 64, first: 64}, []int64{64, 64}},
		{tuning{batch: 5, first: 5}, []int64{5, 5}},
		{tuning{batch: 1, first: 1}, []int64{1, 1}},
	} {
		ctl := newControl(Limit{Window: time.Second}, c.tuning)
		var got []int64
		for last := int64(0); len(got) < len(c.want); {
			last, _ = ctl.next(last)
			got = append(got, last)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v gives batches of %v, want %v", c.tuning, got, c.want)
		}
		ctl.phase.Store(stop)
		if n, _ := ctl.next(64); n != 0 {
			t.Errorf("%d turns after the end", n)
		}
	}
}

// A snail is a lock that takes its time, as one does whose busy waiters have no
// processor.
type snail struct {
	sync.Mutex
	turns atomic.Int64
}

func (s *snail) Lock() {
	s.Mutex.Lock()
	s.turns.Add(1)
	time.Sleep(30 * time.Millisecond)
}

// TestSlowIsNotStuck drives a lock whose waiters need longer than the patience
// in all, though none of them needs it alone. What is under way when a drive
// ends must be little: one turn of each worker, not a batch.
func TestSlowIsNotStuck(t *testing.T) {
	const workers = 8
	s := new(snail)
	v := &harness.Variant{Name: "snail", Doc: "is slow", Paper: "none", Family: harness.Blocking, Status: harness.Reference,
		Local: func(harness.Setup) harness.Local { return harness.Shared(s) }}
	w := harness.Workload{Workers: workers, Warmup: 2 * time.Millisecond, Window: 5 * time.Millisecond}
	r, err := Measure(t.Context(), instruments(), Job{Lock: v, Workload: w, Patience: 150 * time.Millisecond})
	if err != nil || len(r.Violations) > 0 {
		t.Fatalf("%v, violations %v", err, r.Violations)
	}
	// Two drives.
	if n := s.turns.Load(); n > 4*workers {
		t.Errorf("%d turns of 30 ms for windows of %v and %v", n, w.Warmup, w.Window)
	}
}
