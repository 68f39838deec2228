package measure

import (
	"slices"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/result"
)

func openWorkload(workers int, rate harness.Rate, hold time.Duration) harness.Workload {
	return harness.Workload{Workers: workers, Rate: rate, Hold: harness.Span{Mean: hold}, Warmup: 20 * time.Millisecond, Window: 100 * time.Millisecond}
}

// checkArrivals requires no violation, and checks that the arrivals fit the rate within five Poisson deviations.
func checkArrivals(t *testing.T, r *result.Result) {
	t.Helper()
	if r.Open == nil || len(r.Violations) > 0 {
		t.Fatalf("arrivals %+v, violations %v", r.Open, r.Violations)
	}
	want := float64(r.Workload.Rate) * r.Workload.Window.Seconds()
	if d := float64(r.Open.Offered) - want; d*d > 25*want || r.Open.Span != r.Workload.Window {
		t.Errorf("%d arrivals in %v, want about %.0f in %v", r.Open.Offered, r.Open.Span, want, r.Workload.Window)
	}
}

func checkUnowned(t *testing.T, r *result.Result) {
	t.Helper()
	if len(r.Owners) > 0 || len(r.BucketCounts) > 0 || r.Handovers > 0 || len(r.Handover) > 0 || r.Unserved > 0 {
		t.Errorf("it tells the workers of an open loop apart: %d owners, %d buckets, %d handovers", len(r.Owners), len(r.BucketCounts), r.Handovers)
	}
	for _, m := range result.Metrics {
		_, ok := m.Of(r)
		if worker := []*result.Metric{result.Jain, result.WindowJain, result.Starved, result.BusyHalf, result.MinMax, result.Spread,
			result.Handovers, result.PeriodRoundTrips, result.WaitShare, result.HoldShare, result.CPU}; ok && slices.Contains(worker, m) {
			t.Errorf("it has a figure of %s", m.Name)
		}
	}
	for _, m := range []*result.Metric{result.Offered, result.Goodput, result.Dropped, result.Backlog, result.Late, result.Throughput} {
		if _, ok := m.Of(r); !ok {
			t.Errorf("it has no figure of %s", m.Name)
		}
	}
}

func kindsOf(r *result.Result) []string {
	return result.Each(r.Warnings, func(w result.Warning) string { return w.Kind })
}

func TestOpenLocal(t *testing.T) {
	even := openWorkload(3, 20_000, 5*time.Microsecond)
	even.Arrivals, even.Pin = harness.Even, harness.PinThread
	data := openWorkload(4, 50_000, 0)
	data.Section = harness.SectionMap
	rare := openWorkload(4, 100, 5*time.Microsecond) // few, so workers sleep
	for _, w := range []harness.Workload{openWorkload(2, 20_000, 5*time.Microsecond), openWorkload(1, 1_000_000, 0), even, data, rare} {
		t.Run(w.Name(), func(t *testing.T) {
			r := measureLocal(t, good, w)
			checkArrivals(t, r)
			checkUnowned(t, r)
			if waits := r.Wait.Count(); waits == 0 || r.SampleEvery == 1 && waits != int64(r.Open.Offered) {
				t.Errorf("%d waits of %d arrivals, one in %d is timed", waits, r.Open.Offered, r.SampleEvery)
			}
		})
	}
	t.Run("exclusion", func(t *testing.T) {
		if locktest.RaceDetector {
			t.Skip("the race detector sees what the lock fails to prevent")
		}
		r := measureLocal(t, busted, openWorkload(4, 2_000_000, 200*time.Nanosecond))
		requireViolation(t, r, "exclusion")
	})
}

// TestRareAreTimed: after a warm-up without arrivals, each of a few is timed.
func TestRareAreTimed(t *testing.T) {
	w := openWorkload(2, 100, 0)
	w.Warmup, w.Arrivals = time.Microsecond, harness.Even
	for seed := range uint64(3) { // one of them may have an arrival in 2 ms
		r := measureJob(t, Job{Lock: good, Workload: w, Seed: seed})
		if n := r.Wait.Count(); r.SampleEvery != 1 || n != int64(r.Open.Offered) {
			t.Errorf("%d waits of %d arrivals, one in %d is timed", n, r.Open.Offered, r.SampleEvery)
		}
	}
}

// A timed is a mutex that measures its shortest hold, perhaps less than calibrated.
type timed struct {
	sync.Mutex
	granted  time.Time
	shortest time.Duration
}

func (m *timed) Lock() { m.Mutex.Lock(); m.granted = time.Now() }

func (m *timed) Unlock() { m.shortest = min(m.shortest, time.Since(m.granted)); m.Mutex.Unlock() }

// TestOverload: a lock at five times its capacity grants what it can; others count as waits.
func TestOverload(t *testing.T) {
	w := openWorkload(4, 5_000, time.Millisecond)
	check := func(r *result.Result, hold time.Duration) {
		t.Helper()
		checkArrivals(t, r)
		// It grants as many as there are holds in the window, plus a partial one.
		if most := uint64(r.Elapsed/hold) + 1; r.Ops > most || r.Open.Backlog < r.Open.Offered-most {
			t.Errorf("%d of %d acquisitions were granted, %d wait at the end; at most %d could be", r.Ops, r.Open.Offered, r.Open.Backlog, most)
		}
		if n := r.Wait.Count(); n != int64(r.Open.Offered) {
			t.Errorf("%d waits of %d arrivals", n, r.Open.Offered)
		}
		// Of the arrivals in the first half, four in five still wait at the end.
		if p50 := r.Wait.Quantile(0.5); p50 < 30e6 {
			t.Errorf("half of the waits take at most %v", time.Duration(p50))
		}
		if r.Open.Late == 0 || r.Open.Behind == 0 || !slices.Contains(kindsOf(r), "overload") {
			t.Errorf("%d arrivals were late, %d behind, warnings %v", r.Open.Late, r.Open.Behind, r.Warnings)
		}
	}
	var lock *timed
	local := localLock("timed", harness.Traits{}, func() sync.Locker { lock = &timed{shortest: time.Hour}; return lock })
	r := measureLocal(t, local, w)
	check(r, lock.shortest)
	check(measureOpen(t, new(shelf), w), min(lock.shortest, 950*time.Microsecond))
}

func measureOpen(t *testing.T, s *shelf, w harness.Workload) *result.Result {
	t.Helper()
	return measureJob(t, Job{Lock: s.variant(harness.Traits{Fenced: true}), Workload: w, Seed: 1, Patience: time.Second})
}

func TestOpenRemote(t *testing.T) {
	s := new(shelf)
	r := measureOpen(t, s, openWorkload(16, 2_000, 50*time.Microsecond))
	checkArrivals(t, r)
	checkUnowned(t, r)
	if n := r.Wait.Count(); n != int64(r.Open.Offered) || r.Wire == nil {
		t.Errorf("%d waits of %d arrivals, traffic %v", n, r.Open.Offered, r.Wire)
	}
	s = new(shelf)
	if measureOpen(t, s, openWorkload(16, 10, 0)); s.token.Load() < 2*16 { // the workers meet before each drive
		t.Errorf("the lock was taken %d times, want twice by each of 16 workers at least", s.token.Load())
	}
	if r := measureOpen(t, &shelf{open: true}, openWorkload(16, 2_000, time.Millisecond)); len(r.Violations) == 0 {
		t.Error("a lock that lets every worker in passes")
	}
}

func TestLoadDoubts(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(r *result.Result)
		want  []string
	}{
		{"sound", func(*result.Result) {}, nil},
		{"a few late", func(r *result.Result) { r.Open.Late = 10 }, nil},
		{"too few workers", func(r *result.Result) { r.Open.Late = 11 }, []string{"pool"}},
		{"does not keep up", func(r *result.Result) { r.Ops, r.Open.Backlog, r.Open.Late = 940, 60, 900 }, []string{"overload"}},
		{"just keeps up", func(r *result.Result) { r.Ops, r.Open.Backlog = 960, 40 }, nil},
		{"cut short by the end", func(r *result.Result) { r.Ops, r.Open.Backlog = 940, 10 }, nil},
		{"drops the rest", func(r *result.Result) { r.Ops, r.Open.Backlog, r.Open.Dropped = 500, 20, 480 }, nil},
		{"late by itself", func(r *result.Result) { r.Open.Lag99 = 600e3 }, []string{"pacing"}},
		{"no arrivals", func(r *result.Result) { r.Open.Offered, r.Ops = 0, 0 }, nil},
	} {
		r := &result.Result{Workload: harness.Workload{Workers: 8, Rate: 1000}, Elapsed: time.Second, Ops: 1000,
			Wait: result.Histogram{{Value: 1e6, N: 1000}}, Open: &result.OpenLoop{Offered: 1000, Span: time.Second, Lag99: 1e3}}
		c.spoil(r)
		if r.Warnings = loadDoubts(r); !slices.Equal(kindsOf(r), c.want) {
			t.Errorf("%s: %v, want %v", c.name, r.Warnings, c.want)
		}
	}
}

// TestDeadline: a missed deadline drops the acquisition and counts as a wait.
func TestDeadline(t *testing.T) {
	w := openWorkload(8, 1_000, 5*time.Millisecond)
	w.Deadline = 20 * time.Millisecond
	for _, v := range []*harness.Variant{new(shelf).variant(harness.Traits{Fenced: true}), good} {
		r := measureLocal(t, v, w)
		checkArrivals(t, r)
		// About one in 5 ms is served, and one arrives every millisecond.
		if served := uint64(r.Elapsed/(5*time.Millisecond)) + 1; r.Ops > 2*served || r.Ops == 0 {
			t.Errorf("%s: %d served in %v", v.Name, r.Ops, r.Elapsed)
		}
		overdue := uint64(0)
		for _, b := range r.Wait {
			if float64(b.Value) > 0.99*float64(w.Deadline) {
				overdue += uint64(b.N)
			}
		}
		if r.Open.Dropped == 0 || overdue < r.Open.Dropped {
			t.Errorf("%s: %d waits until the deadline of %d dropped", v.Name, overdue, r.Open.Dropped)
		}
		if n, most := r.Wait.Count(), r.Wait.Quantile(1); n != int64(r.Open.Offered) || most > 1.01*float64(w.Deadline) {
			t.Errorf("%s: %d waits of %d arrivals, up to %v", v.Name, n, r.Open.Offered, time.Duration(most))
		}
		if r.Open.Backlog > 64 {
			t.Errorf("%s: %d wait at the end", v.Name, r.Open.Backlog)
		}
	}
}
