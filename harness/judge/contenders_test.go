package judge_test

import (
	"cmp"
	"math"
	"strings"
	"testing"
	"time"

	"locklab/harness/judge"
	"locklab/harness/result"
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

func fitContenders(c synthetic.Contended, workers []int, edits ...func(r *result.Result)) (*judge.Contenders, string) {
	byWorkers := make(map[int][]*result.Result)
	for _, r := range synthetic.Contenders(3, workers, c).Results {
		for _, edit := range edits {
			edit(r)
		}
		byWorkers[r.Workload.Workers] = append(byWorkers[r.Workload.Workers], r)
	}
	m := &judge.Model{Lock: c.Lock, Trips: c.Trips, Rounds: func(n int) []*result.Result { return byWorkers[n] }}
	return judge.NewContenders(m, workers)
}

func mustFit(t *testing.T, c synthetic.Contended, workers []int, edits ...func(r *result.Result)) *judge.Contenders {
	t.Helper()
	f, why := fitContenders(c, workers, edits...)
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

func nearlyEqual(got, want, share float64) bool { return math.Abs(got/want-1) <= share }

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
		if c.Fitted != 100 || c.Law.Power != test.law.Power || math.Abs(c.Law.Fixed-test.law.Fixed) > 500 || math.Abs(c.Law.Growing-test.law.Growing) > test.law.Growing/1000 {
			t.Errorf("the law up to %d contenders is %+v, want %+v up to 100", c.Fitted, c.Law, test.law)
		}
		for _, n := range []int{7, 300, 1000, 10_000} {
			if want := 1e9 / test.law.At(float64(n)); !nearlyEqual(c.Rate(n), want, 0.01) {
				t.Errorf("%+v with %d contenders: %v handovers per second, want %v", test.law, n, c.Rate(n), want)
			}
		}
		left := c.LeftOut()
		if len(left) != 2 {
			t.Fatalf("%d points are left out, want 300 and 1000", len(left))
		}
		for _, p := range left {
			if e := c.Error(p); !(math.Abs(e) < 0.01) {
				t.Errorf("%+v has an error of %v with %d contenders", test.law, e, p.Contenders)
			}
		}
	}
}

// TestLawIgnoresNoise: noise is not fitted as growth.
func TestLawIgnoresNoise(t *testing.T) {
	noise := map[float64]float64{5: 1.08, 10: 0.9, 20: 0.95, 50: 1.05, 100: 1.02}
	c := mustFit(t, periodOf(func(n float64) float64 { return 300e3 * cmp.Or(noise[n], 1) }), upTo(1000))
	var sum, squares float64 // their ratio minimizes the relative errors
	for _, by := range noise {
		sum, squares = sum+1/by, squares+1/by/by
	}
	if flat := 300e3 * sum / squares; c.Law.Power != 0 || !nearlyEqual(c.Law.Fixed, flat, 1e-4) {
		t.Errorf("the law is %+v, want a constant %v", c.Law, flat)
	}
}

func TestCostsAreNotNegative(t *testing.T) {
	falling := mustFit(t, periodOf(func(n float64) float64 { return 400e3 - 100*(n-1) }), upTo(1000))
	if l := falling.Law; l.Power != 0 || l.Growing != 0 || !nearlyEqual(l.Fixed, 400e3, 0.05) {
		t.Errorf("a time that falls has the law %+v, want a constant", l)
	}
	negative := mustFit(t, periodOf(func(n float64) float64 { return 50e3*(n-1) - 20e3 }), upTo(1000))
	if l := negative.Law; l.Power != 1 || l.Fixed != 0 || !nearlyEqual(l.Growing, 48.1e3, 0.005) {
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
		if got := c.Refuted(); got != want {
			t.Errorf("%v times slower: %q, want %q", slower, got, want)
		}
		if e := c.Error(c.Points[len(c.Points)-1]); !nearlyEqual(e, slower-1, 0.01) {
			t.Errorf("%v times slower is an error of %v", slower, e)
		}
	}
}

func TestNoLaw(t *testing.T) {
	uncounted, shared := synthetic.Queue("queue"), synthetic.Queue("queue")
	uncounted.Trips, shared.Trips = nil, &result.Trips{Lock: shared.Trips.Lock}
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
		if c, why := fitContenders(test.lock, test.workers); !strings.Contains(why, test.want) || c == nil {
			t.Errorf("with %v workers: %q, want %q", test.workers, why, test.want)
		}
	}
}

func TestContendersOfDamage(t *testing.T) {
	for i, edit := range []func(r *result.Result){
		func(r *result.Result) { r.Elapsed = math.MaxInt64 },
		func(r *result.Result) { r.Elapsed = -1 },
		func(r *result.Result) { r.Handovers = math.MaxUint64 },
		func(r *result.Result) { r.Handovers = 0 },
		func(r *result.Result) { r.Workload.Workers = 0 },
	} {
		for _, lock := range []synthetic.Contended{synthetic.Queue("queue"), synthetic.Herd("herd")} {
			c, why := fitContenders(lock, upTo(1000), edit)
			if why != "" {
				continue
			}
			if rate := c.Rate(100_000); !(rate > 0 && rate < 1e12) {
				t.Errorf("damage %d of %s: %v", i, lock.Lock.Name, rate)
			}
		}
	}
}
