package judge_test

import (
	"cmp"
	"math"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/internal/synthetic"
)

func upTo(most int) (workers []int) {
	for _, n := range []int{1, 2, 5, 10, 20, 50, 100, 300, 1000, 3000} {
		if n <= most {
			workers = append(workers, n)
		}
	}
	return workers
}

func fitted(c synthetic.Contended, workers []int, edits ...func(r *harness.Result)) (*judge.Contenders, string) {
	byWorkers := make(map[int][]*harness.Result)
	for _, r := range synthetic.Contenders(3, workers, c).Results {
		for _, edit := range edits {
			edit(r)
		}
		byWorkers[r.Workload.Workers] = append(byWorkers[r.Workload.Workers], r)
	}
	m := &judge.Model{Lock: c.Lock, Trips: c.Trips, Rounds: func(n int) []*harness.Result { return byWorkers[n] }}
	return judge.NewContenders(m, workers)
}

func mustFit(t *testing.T, c synthetic.Contended, workers []int, edits ...func(r *harness.Result)) *judge.Contenders {
	t.Helper()
	f, why := fitted(c, workers, edits...)
	if why != "" {
		t.Fatalf("%s has no law: %s", c.Lock.Name, why)
	}
	return f
}

func periodOf(period func(n float64) float64) synthetic.Contended {
	c := synthetic.Queue("queue")
	c.Period = func(n float64) time.Duration { return time.Duration(period(n)) }
	return c
}

func near(got, want, share float64) bool { return math.Abs(got/want-1) <= share }

func TestLawRecovered(t *testing.T) {
	unordered := synthetic.Queue("unordered")
	unordered.Lock.Traits.FIFO = false
	square := periodOf(func(n float64) float64 { return 500e3 + 700*(n-1)*(n-1) })
	noFixed := periodOf(func(n float64) float64 { return 50e3 * (n - 1) })
	for _, test := range []struct {
		lock synthetic.Contended
		law  judge.Law
	}{
		{synthetic.Queue("queue"), judge.Law{Fixed: 300e3}},
		{unordered, judge.Law{Fixed: 300e3}},
		{synthetic.Herd("herd"), judge.Law{Fixed: 500e3, Growing: 50e3, Power: 1}},
		{noFixed, judge.Law{Growing: 50e3, Power: 1}},
		{square, judge.Law{Fixed: 500e3, Growing: 700, Power: 2}},
	} {
		c := mustFit(t, test.lock, upTo(1000)[1:])
		if c.Fitted() != 100 || c.Law.Power != test.law.Power || math.Abs(c.Law.Fixed-test.law.Fixed) > 500 || math.Abs(c.Law.Growing-test.law.Growing) > test.law.Growing/1000 {
			t.Errorf("the law up to %d contenders is %+v, want %+v up to 100", c.Fitted(), c.Law, test.law)
		}
		for _, n := range []int{7, 300, 1000, 10_000} {
			p, why := c.At(n, 0)
			want := test.law.At(float64(n))
			if why != "" || !near(p.Rate.Value, 1e9/want, 0.01) || !(p.Rate.Lo <= p.Rate.Value && p.Rate.Value <= p.Rate.Hi) {
				t.Errorf("%+v with %d contenders: %+v handovers per second, want %v; %s", test.law, n, p.Rate, 1e9/want, why)
			}
			wait := float64(n)*want - float64(test.lock.Release)
			if !test.lock.Lock.Traits.FIFO {
				wait = 0
			}
			if math.Abs(p.Wait.Value-wait) > wait/100 {
				t.Errorf("%+v with %d contenders: wait %+v, want %v", test.law, n, p.Wait, wait)
			}
		}
		left := c.LeftOut()
		if len(left) != 2 {
			t.Fatalf("%d points are left out, want 300 and 1000", len(left))
		}
		for _, x := range left {
			if e := x.RateError(); !(math.Abs(e) < 0.01) {
				t.Errorf("%+v has an error of %v with %d contenders", test.law, e, x.Point.Contenders)
			}
		}
	}
}

// TestLawIgnoresNoise: noise is not fitted as growth.
func TestLawIgnoresNoise(t *testing.T) {
	noise := map[float64]float64{5: 1.08, 10: 0.9, 20: 0.95, 50: 1.05, 100: 1.02}
	c := mustFit(t, periodOf(func(n float64) float64 { return 300e3 * cmp.Or(noise[n], 1) }), upTo(1000))
	flat := func(without float64) float64 { // minimizes the relative errors
		var sum, squares float64
		for n, by := range noise {
			if n != without {
				sum, squares = sum+1/by, squares+1/by/by
			}
		}
		return 300e3 * sum / squares
	}
	if c.Law.Power != 0 || !near(c.Law.Fixed, flat(0), 1e-4) {
		t.Errorf("the law is %+v, want a constant %v", c.Law, flat(0))
	}
	miss := max(flat(0)/300e3, 300e3/flat(0))
	slow, fast := flat(10), flat(5) // without the fastest, and without the slowest
	p, why := c.At(1_000_000, 0)
	if why != "" || !near(p.Rate.Lo, 1e9/slow/miss, 1e-4) || !near(p.Rate.Hi, 1e9/fast*miss, 1e-4) || !near(p.Wait.Lo, 1e6*fast/miss, 1e-4) || !near(p.Wait.Hi, 1e6*slow*miss, 1e-4) {
		t.Errorf("the ranges are %+v, want periods from %v to %v, and a factor of %v; %s", p, fast, slow, miss, why)
	}
}

func TestCostsAreNotNegative(t *testing.T) {
	falling := mustFit(t, periodOf(func(n float64) float64 { return 400e3 - 100*(n-1) }), upTo(1000))
	if l := falling.Law; l.Power != 0 || l.Growing != 0 || !near(l.Fixed, 400e3, 0.05) {
		t.Errorf("a time that falls has the law %+v, want a constant", l)
	}
	negative := mustFit(t, periodOf(func(n float64) float64 { return 50e3*(n-1) - 20e3 }), upTo(1000))
	if l := negative.Law; l.Power != 1 || l.Fixed != 0 || !near(l.Growing, 48.1e3, 0.005) {
		t.Errorf("a negative constant has the law %+v, want none", l)
	}
}

// TestWrongLawIsRefuted: a time that grows only beyond the fitted points is found.
func TestWrongLawIsRefuted(t *testing.T) {
	for slower, want := range map[float64]string{0.8: "", 1.45: "", 0.5: "refuted: off by a factor of 2 with 1000 contenders", 1.55: "refuted: off by a factor of 1.6 with 1000 contenders", 10: "refuted: off by a factor of 10 with 1000 contenders"} {
		c := mustFit(t, periodOf(func(n float64) float64 {
			if n == 1000 {
				return slower * 300e3
			}
			return 300e3
		}), upTo(1000))
		p, why := c.At(10_000, 0)
		if why != want || (why == "") != (p.Rate.Value > 0) {
			t.Errorf("%v times slower: predicted %+v, %q, want %q", slower, p.Rate, why, want)
		}
		if by := max(slower, 1/slower); want == "" && (!near(p.Rate.Lo, p.Rate.Value/by, 0.01) || !near(p.Rate.Hi, p.Rate.Value*by, 0.01)) {
			t.Errorf("%v times slower: the range is %+v", slower, p.Rate)
		}
		left := c.LeftOut()
		if e := left[len(left)-1].RateError(); !near(e, slower-1, 0.01) {
			t.Errorf("%v times slower is an error of %v", slower, e)
		}
	}
}

func TestWrongWaitIsNotPredicted(t *testing.T) {
	c := mustFit(t, synthetic.Queue("queue"), upTo(1000), func(r *harness.Result) {
		if r.Workload.Workers == 1000 {
			r.Wait = harness.Histogram{{Value: 1e6, N: 1000}}
		}
	})
	if p, why := c.At(10_000, 0); why != "" || p.Wait != (judge.PredictedTime{}) || p.Rate.Value == 0 {
		t.Errorf("predicted %+v, %q, want a rate without a wait", p, why)
	}
}

func TestNoLaw(t *testing.T) {
	uncounted, shared := synthetic.Queue("queue"), synthetic.Queue("queue")
	uncounted.Trips, shared.Trips = nil, &harness.Trips{Lock: shared.Trips.Lock}
	for _, test := range []struct {
		lock    synthetic.Contended
		workers []int
		want    string
	}{
		{synthetic.Queue("queue"), []int{1}, "no handover"},
		{synthetic.Queue("queue"), []int{1, 8}, "has 0 points with a queue up to a tenth of the most contenders (8)"},
		{synthetic.Queue("queue"), []int{4, 8, 16, 100}, "has 2 points"},
		{synthetic.Queue("queue"), []int{1, 2, 5, 10, 100}, "has 2 points"}, // with 2 workers the queue may be empty
		{uncounted, upTo(1000), "not counted"},
		{shared, upTo(1000), "several may hold it"},
		{synthetic.Polling("poll"), upTo(1000), "polls"},
	} {
		if c, why := fitted(test.lock, test.workers); !strings.Contains(why, test.want) || c == nil {
			t.Errorf("with %v workers: %q, want %q", test.workers, why, test.want)
		}
	}
}

func TestContendersAtDistance(t *testing.T) {
	const trip = 50e6
	oneTrip := func(r *harness.Result) { // as several ranks with different round trips
		if r.Workload.Workers != 20 {
			r.RoundTrip = 0
		}
	}
	for _, c := range []*judge.Contenders{
		mustFit(t, synthetic.Queue("queue"), upTo(1000)),
		mustFit(t, synthetic.Queue("not measured alone"), upTo(1000)[1:]),
		mustFit(t, synthetic.Queue("one round trip"), upTo(1000), oneTrip),
	} {
		if p, why := c.At(10_000, trip); why != "" || !near(p.Rate.Value, 1e9/trip, 0.02) || !near(p.Wait.Value, 10_000*trip, 0.02) {
			t.Errorf("%s at 50 ms: %+v, %s", c.Lock.Name, p, why)
		}
		if p, _ := c.At(10, trip); !near(p.Wait.Value, 9*trip, 0.02) { // the release takes a round trip
			t.Errorf("%s at 50 ms with 10 contenders: %+v", c.Lock.Name, p)
		}
	}
	c := mustFit(t, synthetic.Queue("queue"), upTo(1000), func(r *harness.Result) { r.RoundTrip = 0 })
	if _, why := c.At(10_000, trip); !strings.Contains(why, "no bare round trip") {
		t.Errorf("without a round trip: %q", why)
	}
	herd := mustFit(t, synthetic.Herd("herd"), upTo(1000))
	close, _ := herd.At(100_000, 0)
	if p, why := herd.At(100_000, trip); why != "" || !(p.Rate.Value < close.Rate.Value) || !near(p.Rate.Value, close.Rate.Value, 0.05) {
		t.Errorf("a handover of 5 s near its servers is %+v at 50 ms, and %+v near; %s", p.Rate, close.Rate, why)
	}
}

func TestContendersOfDamage(t *testing.T) {
	for i, edit := range []func(r *harness.Result){
		func(r *harness.Result) { r.Elapsed = math.MaxInt64 },
		func(r *harness.Result) { r.Elapsed = -1 },
		func(r *harness.Result) { r.Handovers = math.MaxUint64 },
		func(r *harness.Result) { r.Handovers = 0 },
		func(r *harness.Result) { r.Wait = harness.Histogram{{Value: math.MaxInt64, N: math.MaxInt64}} },
		func(r *harness.Result) { r.RoundTrip = math.NaN() },
		func(r *harness.Result) { r.RoundTrip = 1e12 },
		func(r *harness.Result) { r.Workload.Workers = 0 },
	} {
		for _, lock := range []synthetic.Contended{synthetic.Queue("queue"), synthetic.Herd("herd")} {
			c, why := fitted(lock, upTo(1000), edit)
			if why != "" {
				continue
			}
			for _, trip := range []float64{0, 1, 50e6} {
				if p, why := c.At(100_000, trip); why == "" && !(p.Rate.Value > 0 && p.Rate.Value < 1e12 && p.Wait.Value >= 0 && p.Wait.Value < 1e21) {
					t.Errorf("damage %d of %s: %+v", i, lock.Lock.Name, p)
				}
			}
		}
	}
}
