package measure

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/result"
	"locklab/internal/machine"
)

// A simulated lock is one server in simulated time, with arrivals from a schedule.
type simulated struct {
	queue    queue
	spacing  harness.Arrival
	deadline float64 // service times; 0 is no deadline
	seed     uint64
	probes   int
}

// capacity of a simulated lock, in arrivals per second.
const capacity = 1e9 / serviceTime

func (c *simulated) probe(rate harness.Rate, window time.Duration) (result.Trial, error) {
	c.seed++
	c.probes++
	from := int64(lead * float64(window))
	to := from + int64(window)
	a := newArrivals(rate, c.spacing, to, math.MaxInt64, c.seed)
	rng := machine.NewRandom(c.seed + 1<<40)
	r := result.Result{Elapsed: window, Open: &result.OpenLoop{Span: window}}
	var wait result.Recorder
	free, deadline := int64(0), int64(c.deadline*serviceTime)
	for i := range a.before(to) {
		at := a.at(i)
		start := max(at, free)
		dropped := deadline > 0 && start-at > deadline
		if !dropped {
			free = start + c.queue.service(rng)
		}
		switch {
		case dropped && at >= from:
			r.Open.Dropped++
			wait.Record(deadline)
		case !dropped && start >= to:
			r.Open.Backlog++
			fallthrough
		case !dropped && at >= from:
			wait.Record(min(start, to) - at)
		}
		if !dropped && start >= from && start < to {
			r.Ops++
		}
		if at >= from {
			r.Open.Offered++
		}
	}
	r.Wait = wait.Snapshot()
	p, ok := trialOf(&r)
	if !ok {
		return p, errors.New("no wait")
	}
	return p, nil
}

func (c *simulated) seekIn(t *testing.T, closed float64, window func(rate harness.Rate) time.Duration) *result.Saturation {
	t.Helper()
	s := search{Saturation: &result.Saturation{Closed: closed}, least: 1}
	s.probe = func(rate harness.Rate) (result.Trial, error) { return c.probe(rate, window(rate)) }
	requireNoError(t, s.seek())
	return s.Saturation
}

func manyServers(n float64) func(harness.Rate) time.Duration {
	return func(rate harness.Rate) time.Duration { return time.Duration(n / float64(rate) * 1e9) }
}

func (s queue) saturationOf(rest float64) float64 {
	limit := result.MostSlowdown * s.quantile(rest, 0.99)
	return findRoot(func(rho float64) bool { return s.quantile(rho, 0.99) > limit })
}

// deadlineSaturationOf returns the load at which one in twenty arrivals is dropped at the deadline.
// Sources: B. Gavish, P. Schweitzer, "The Markovian Queue with Bounded Waiting Time",
// Management Science 23(12), 1977; for any service P. De Kok, H. Tijms, "A Queueing System
// with Impatient Customers", J. Applied Probability 22(3), 1985. For M/G/1 with a load under 1
// the formula uses the waits without a deadline.
func (s queue) deadlineSaturationOf(deadline float64) float64 {
	return findRoot(func(rho float64) bool {
		longer := 1 - s.within(rho, deadline)
		return (1-rho)*longer/(1-rho*longer) > 1-result.LeastGoodput/100.0
	})
}

func findRoot(over func(rho float64) bool) float64 {
	lo, hi := 0.01, 0.995
	for range 40 {
		if mid := (lo + hi) / 2; over(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lo
}

// TestSeek: with long probes the true saturation point lies between the two loads found.
func TestSeek(t *testing.T) {
	const mostProbes = 60
	mm1, md1 := queues[0], queues[1]
	for _, c := range []struct {
		name   string
		c      simulated
		closed float64 // relative to the capacity
		want   float64 // load
		rule   result.Limit
	}{
		{"M/M/1", simulated{queue: mm1}, 1, mm1.saturationOf(0.1), result.LimitP99},
		{"M/D/1", simulated{queue: md1}, 1, md1.saturationOf(0.1), result.LimitP99},
		{"M/D/1 with a deadline", simulated{queue: md1, deadline: 4}, 1, md1.deadlineSaturationOf(4), result.LimitGranted},
		{"D/D/1", simulated{queue: md1, spacing: harness.Even}, 1, 1, result.LimitP99}, // p99 of zero waits
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := 100_000.0
			if locktest.RaceDetector {
				n = 20_000
			}
			k := c.c.seekIn(t, c.closed*capacity, manyServers(n))
			lo, hi := float64(k.UpTo)/capacity, float64(k.Over)/capacity
			t.Logf("the saturation point is between the loads %.3f and %.3f, theory says %.3f; %d probes", lo, hi, c.want, c.c.probes)
			const chance = 0.03
			if k.Missing != "" || c.want < lo*(1-chance) || c.want > hi*(1+chance) || hi > resolution*lo || k.Rule != c.rule {
				t.Errorf("the saturation point is between the loads %.3f and %.3f by %q (%s), theory says %.3f by %q", lo, hi, k.Rule, k.Missing, c.want, c.rule)
			}
			if c.c.probes > mostProbes || c.c.probes != len(k.Trials) {
				t.Errorf("it took %d probes, and tells of %d", c.c.probes, len(k.Trials))
			}
		})
	}
}

// TestSeekAnew: a wrong closed loop misleads the search only temporarily.
func TestSeekAnew(t *testing.T) {
	md1 := queues[1]
	for _, closed := range []float64{0.3, 5, 40, 5000} {
		c := simulated{queue: md1}
		k := c.seekIn(t, closed*capacity, manyServers(20_000))
		if k.Missing != "" || k.Rest > restMost*k.UpTo {
			t.Fatalf("a closed loop of %v times the capacity: %s, unloaded at %v, up to %v", closed, k.Missing, k.Rest, k.UpTo)
		}
		want := md1.saturationOf(float64(k.Rest) / capacity)
		if lo, hi := float64(k.UpTo)/capacity, float64(k.Over)/capacity; want < 0.95*lo || want > 1.05*hi {
			t.Errorf("a closed loop of %v times the capacity: the saturation point is between %.3f and %.3f, theory says %.3f", closed, lo, hi, want)
		}
		if c.probes > 120 {
			t.Errorf("a closed loop of %v times the capacity: %d probes", closed, c.probes)
		}
	}
}

// TestSeekShort prints the error of a search with probes as short as in a run.
func TestSeekShort(t *testing.T) {
	if locktest.RaceDetector {
		t.Skip("it is arithmetic of one goroutine, which takes ten times as long under the race detector")
	}
	md1 := queues[1]
	var errs []float64
	for seed := range uint64(200) {
		c := simulated{queue: md1, seed: seed << 20}
		k := c.seekIn(t, (0.8+0.01*float64(seed%40))*capacity, func(rate harness.Rate) time.Duration {
			return probeWindowOf(harness.Workload{Rate: rate, Window: remoteWindow})
		})
		if k.Missing != "" {
			t.Fatalf("%s", k.Missing)
		}
		found := float64(between(k.UpTo, k.Over)) / capacity
		errs = append(errs, math.Abs(found/md1.saturationOf(float64(k.Rest)/capacity)-1))
	}
	slices.Sort(errs)
	median, most := errs[len(errs)/2], errs[len(errs)*9/10]
	t.Logf("off by %.1f %% in half of the searches, by %.1f %% in nine of ten", 100*median, 100*most)
	if median > 0.10 || most > 0.20 {
		t.Errorf("off by %.1f %% in half of the searches, by %.1f %% in nine of ten", 100*median, 100*most)
	}
}

const remoteWindow = 750 * time.Millisecond

func TestSeekEnds(t *testing.T) {
	seek := func(closed float64, probe func(n int, rate harness.Rate) (result.Trial, error)) (*result.Saturation, int, error) {
		n := 0
		s := search{Saturation: &result.Saturation{Closed: closed}, least: 3}
		s.probe = func(rate harness.Rate) (result.Trial, error) {
			n++
			if n > 200 {
				t.Fatal("it does not end")
			}
			return probe(n, rate)
		}
		err := s.seek()
		return s.Saturation, n, err
	}
	never := func(int, harness.Rate) (result.Trial, error) {
		return result.Trial{Over: result.LimitGranted, P99: 1e9}, nil
	}
	if k, n, err := seek(1e6, never); err != nil || k.Rates != nil || !strings.Contains(k.Missing, "already at") || n > mostRests*votes {
		t.Errorf("a lock that grants nothing: %+v, %v, %d probes", k, err, n)
	}
	always := func(int, harness.Rate) (result.Trial, error) { return result.Trial{Granted: 100, P99: 100}, nil }
	if k, _, err := seek(1000, always); err != nil || k.Rates != nil || !strings.Contains(k.Missing, "every load") {
		t.Errorf("a lock that is up to all: %+v, %v", k, err)
	}
	broken := func(n int, _ harness.Rate) (result.Trial, error) {
		if n == 3 {
			return result.Trial{}, errBroken
		}
		return always(n, 0)
	}
	if _, n, err := seek(1000, broken); !errors.Is(err, errBroken) || n != 3 {
		t.Errorf("a lock that breaks a promise: %v after %d probes", err, n)
	}
	// Stalls in every fourth probe change nothing.
	step := func(n int, rate harness.Rate) (result.Trial, error) {
		if p := (result.Trial{Granted: 100, P99: 100}); rate < 700 && n%4 != 0 {
			return p, nil
		}
		return result.Trial{Granted: 100, P99: 1e9}, nil
	}
	if k, _, err := seek(1000, step); err != nil || k.UpTo >= 700 || k.Over < 700 || k.Over > resolution*k.UpTo {
		t.Errorf("a machine that stalls: %+v, %v", k, err)
	}
}

func TestAround(t *testing.T) {
	for _, c := range []struct {
		saturation, least harness.Rate
		want              string
	}{
		{1784, 4, "180/s 450/s 900/s 1.4k/s 1.6k/s 1.8k/s 2k/s"},
		{1044, 4, "100/s 250/s 500/s 750/s 900/s 1k/s 1.1k/s"},
		{2.34e6, 4, "230k/s 580k/s 1.2M/s 1.7M/s 2.1M/s 2.3M/s 2.5M/s"},
		{37, 4, "9.2/s 18/s 28/s 33/s 37/s 41/s"},
		{99.9e6, 4, "10M/s 25M/s 50M/s 75M/s 90M/s 100M/s"},
		{2, 4, ""},
	} {
		got := result.Each(around(c.saturation, c.least), harness.Rate.String)
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("around %v: %s, want %s", c.saturation, text, c.want)
		}
	}
}

func planOfSearch(v *harness.Variant, w harness.Workload) *Plan {
	p := plan(1, v)
	p.Cases = []Case{{Lock: v, Workload: w, Sought: true}}
	return p
}

// TestSeekPlan: the rates around a saturation point are added once, and again the same.
func TestSeekPlan(t *testing.T) {
	w := harness.Workload{Workers: 4, Hold: harness.Span{Mean: 200 * time.Microsecond}, Warmup: 2 * time.Millisecond, Window: 30 * time.Millisecond, Arrivals: harness.Even}
	p := planOfSearch(good, w)
	requireNoError(t, p.Validate())
	if err := p.Run(t.Context(), nil); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("a plan without rates is run: %v", err)
	}
	if whole := p.Estimate(); whole < 10*w.Window {
		t.Errorf("the search and %d rates take %v", len(saturationShares), whole)
	}
	var ks []result.Saturation
	for range 5 { // a busy machine may give too little
		p = planOfSearch(good, w)
		var err error
		if ks, err = p.Seek(t.Context(), ignoreProgress); err != nil {
			t.Fatal(err)
		}
		if len(ks) == 1 && len(ks[0].Rates) >= 4 {
			break
		}
	}
	k := ks[0]
	t.Logf("%v; closed %.0f/s, measured at %v", k, k.Closed, k.Rates)
	// The lock cannot grant more; how much less depends on the machine.
	if k.Missing != "" || k.UpTo > 7000 || len(k.Rates) < 4 || len(p.Cases) != len(k.Rates) {
		t.Fatalf("the saturation point is %+v, the plan has %d cases", k, len(p.Cases))
	}
	for i, c := range p.Cases {
		want := w
		want.Rate = k.Rates[i]
		if c.Workload != want || !c.Sought || c.Unknown() {
			t.Errorf("case %d is %+v, want %v", i, c, want)
		}
	}
	again := planOfSearch(good, w)
	given := again.Cases[0]
	given.Sought, given.Workload.Rate = false, k.Rates[1]
	again.Cases = append(again.Cases, given)
	if err := again.Settle(ks); err != nil || len(again.Cases) != len(p.Cases) {
		t.Errorf("made again, the plan has %d cases, want %d (%v)", len(again.Cases), len(p.Cases), err)
	}
	w.Workers++
	if err := planOfSearch(good, w).Settle(ks); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("a plan gets rates of another workload: %v", err)
	}
	// In shorter windows the least rates have no arrival.
	for i := range p.Cases {
		p.Cases[i].Workload.Window = time.Duration(1e9/float64(k.Rates[1])) + time.Microsecond
	}
	p.Trim(ks)
	if len(p.Cases) != len(k.Rates)-1 || len(ks[0].Rates) != len(k.Rates)-1 || ks[0].Rates[0] != k.Rates[1] {
		t.Errorf("%d cases and the rates %v are left of %v", len(p.Cases), ks[0].Rates, k.Rates)
	}
}

func ignoreProgress(Seeking) {}

// TestSeekNothing: locks that fail or are lost end their search, with the reason.
func TestSeekNothing(t *testing.T) {
	always := lethalLockNamed("kill-always")
	long := harness.Workload{Workers: 2, Hold: harness.Span{Mean: 200 * time.Millisecond}, Window: time.Millisecond}
	for _, c := range []struct {
		lock   *harness.Variant
		w      harness.Workload
		want   string
		broken string
		rates  int
	}{
		{crash, workload(2), "broke a promise in a probe: crash", "crash", 1},
		{always, workload(2), "gave no result in a probe: ", "", 0},
		{good, long, "was not acquired once", "", 0},
	} {
		p := planOfSearch(c.lock, c.w)
		ks, err := p.Seek(t.Context(), ignoreProgress)
		if err != nil || len(ks) != 1 || !strings.HasPrefix(ks[0].Missing, c.want) || !strings.HasPrefix(ks[0].Broken, c.broken) ||
			(ks[0].Broken == "") != (c.broken == "") || len(ks[0].Rates) != c.rates || len(p.Cases) != c.rates {
			t.Errorf("%s: %+v, %d cases, %v", c.lock.Name, ks, len(p.Cases), err)
		}
	}
	p := planOfSearch(good, workload(2))
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := p.Seek(ctx, func(Seeking) { cancel() }); !errors.Is(err, context.Canceled) || !p.Unknown() {
		t.Errorf("a search that is cancelled: %v", err)
	}
}
