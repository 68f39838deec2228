package measure

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
)

func TestBatchesGrow(t *testing.T) {
	for batch, want := range map[int64][]int64{
		64: {1, 2, 4, 8, 16, 32, 64, 64},
		5:  {1, 2, 4, 5, 5},
		1:  {1, 1},
	} {
		c := newControl(Limit{Window: time.Second}, batch)
		var got []int64
		for last := int64(0); len(got) < len(want); {
			last, _ = c.next(last)
			got = append(got, last)
		}
		if !slices.Equal(got, want) {
			t.Errorf("batches of %v, want %v", got, want)
		}
		c.phase.Store(stop)
		if n, _ := c.next(64); n != 0 {
			t.Errorf("%d acquisitions after the end", n)
		}
	}
}

type snail struct {
	sync.Mutex
	got atomic.Int64
}

func (s *snail) Lock() {
	s.Mutex.Lock()
	s.got.Add(1)
	time.Sleep(30 * time.Millisecond)
}

// TestSlowIsNotStuck: waiters together may exceed the patience, with one acquisition pending
// each.
func TestSlowIsNotStuck(t *testing.T) {
	const workers = 8
	s := new(snail)
	v := localLock("snail", harness.Traits{}, func() sync.Locker { return s })
	w := harness.Workload{Workers: workers, Warmup: 2 * time.Millisecond, Window: 5 * time.Millisecond}
	r, err := Measure(t.Context(), instruments(), Job{Lock: v, Workload: w, Patience: 150 * time.Millisecond})
	if err != nil || len(r.Violations) > 0 {
		t.Fatalf("%v, violations %v", err, r.Violations)
	}
	// Two drives.
	if n := s.got.Load(); n > 4*workers {
		t.Errorf("%d acquisitions of 30 ms for windows of %v and %v", n, w.Warmup, w.Window)
	}
}

// TestLeavesEarly: at the end of a drive no waiter takes the lock again, even in a batch.
func TestLeavesEarly(t *testing.T) {
	w := instruments().bench(bareLoop).w
	var s section
	got := func(last int) uint64 {
		s.last = last
		done, _ := w.batch(&s, noLock{}, 64, false)
		return done
	}
	if n := got(1); n != 64 {
		t.Errorf("%d acquisitions before the end, want 64", n)
	}
	w.c.phase.Store(stop)
	if n := got(1); n != 1 {
		t.Errorf("%d acquisitions of one that waited, want 1", n)
	}
	if n := got(w.id); n != 64 {
		t.Errorf("%d acquisitions of one that did not, want 64", n)
	}
	if s.n != 64+1+64 {
		t.Errorf("the counter is %d", s.n)
	}
}
