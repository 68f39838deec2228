package measure

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
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
	w := instruments().bench(false).w
	var s criticalSection
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

// TestTallyIsReadWhole: two rising counters are read from the same publication.
func TestTallyIsReadWhole(t *testing.T) {
	snapshots := 100_000
	if locktest.RaceDetector {
		snapshots /= 50 // the detector finds a race in any of them, and slows each down
	}
	w := new(tally)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := uint64(1); !stop.Load(); n = n%64 + 1 {
			w.publish(n, n)
			if n == 64 {
				runtime.Gosched()
			}
		}
	}()
	c, s := newControl(Limit{Window: 1}, 1), newSnapshot(1)
	var last counts
	torn, fresh := 0, 0
	for fresh < snapshots {
		s.take(c, []*tally{w})
		now := s.workers[0]
		if now == last {
			runtime.Gosched() // to the worker, if there is one processor
			continue
		}
		fresh++
		if now.handovers != now.ops || now.ops < last.ops {
			if torn++; torn == 1 {
				t.Errorf("%d acquisitions and %d handovers are published together, read %+v after %+v", now.ops, now.ops, now, last)
			}
		}
		last = now
	}
	stop.Store(true)
	<-done
	if torn > 0 {
		t.Errorf("%d of %d snapshots are torn", torn, fresh)
	}
}

// TestHalfPublished: a writer stopped halfway neither blocks a reader nor shows new counts.
func TestHalfPublished(t *testing.T) {
	var p published
	for n := uint64(1); n < 4; n++ {
		whole := counts{2 * n, n}
		p.set(whole)
		// These are the stores of set before it publishes.
		p.records[(p.version.Load()+1)&1].ops.StoreRelease(99)
		if got := p.get(); got != whole {
			t.Errorf("read %+v, want %+v", got, whole)
		}
	}
}

// A newcomer is a session on a shelf that sends many more requests for its first Lock.
type newcomer struct {
	*shelf
	seen bool
}

func (g *newcomer) Lock(ctx context.Context) (harness.Lease, error) {
	const firstCost = 1000
	l, err := g.shelf.Lock(ctx)
	if err == nil && !g.seen {
		g.seen = true
		g.requests.Add(firstCost)
	}
	return l, err
}

// TestSteady: a remote window begins when each worker has had the lock, late by half at most.
func TestSteady(t *testing.T) {
	s := new(shelf)
	s.session = func() harness.Session { return &newcomer{shelf: s} }
	v := s.variant(harness.Traits{})
	// The workers of a drive come one after the other: the last has the lock after 40 ms.
	w := harness.Workload{Workers: 40, Clients: 1, Hold: harness.Span{Mean: time.Millisecond}, Window: time.Second}
	rig := openRig(t, Job{Lock: v, Workload: w, Patience: 2 * time.Second})
	res, err := rig.Drive(t.Context(), Limit{Window: 200 * time.Millisecond, Steady: 5 * time.Second})
	if err != nil || len(res.Violations) > 0 || res.Ops == 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	if most := 2*res.Ops + uint64(2*w.Workers); res.Wire.Requests > most {
		t.Errorf("%d requests for %d acquisitions, want two each: at most %d", res.Wire.Requests, res.Ops, most)
	}
	// In each further drive too: 40 acquisitions before the window, and all that wait at its end.
	before := s.requests.Load()
	_, err = rig.Drive(t.Context(), Limit{Window: time.Millisecond, Steady: 5 * time.Second})
	if got := (s.requests.Load() - before) / 2; err != nil || got < 70 {
		t.Errorf("a second drive had %d acquisitions, %v: want 70 or more", got, err)
	}
	for _, c := range []struct {
		name string
		job  Job
		want time.Duration
	}{
		{"remote", Job{Lock: v, Workload: w}, w.Window / 2},
		{"open loop", Job{Lock: v, Workload: harness.Workload{Window: time.Second, Rate: 1}}, 0},
		{"local", Job{Lock: new(harness.Variant), Workload: w}, 0},
	} {
		if got := c.job.steady(); got != c.want {
			t.Errorf("%s: waits for %v at most, want %v", c.name, got, c.want)
		}
	}
	d := &drive{control: newControl(Limit{Window: time.Second, Steady: 20 * time.Millisecond}, 1), tallies: []*tally{new(tally)}}
	begin := time.Now()
	if d.steady(t.Context()); time.Since(begin) < d.limit.Steady {
		t.Errorf("the wait for a worker that has not had the lock was over after %v, want %v", time.Since(begin), d.limit.Steady)
	}
}
