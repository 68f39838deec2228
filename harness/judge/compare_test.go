package judge

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/stat"
)

type rates map[string][]float64

func madeRun(locks rates) *result.Run {
	run := &result.Run{Manifest: result.Manifest{Finished: time.Unix(1, 0)}}
	for name, xs := range locks {
		for round, x := range xs {
			run.Results = append(run.Results, madeResult(name, round, x))
		}
	}
	return run
}

func madeResult(name string, round int, rate float64) *result.Result {
	return &result.Result{Lock: result.Lock{Name: name},
		Workload: harness.Workload{Workers: 1, Window: time.Second}, Round: round, Elapsed: time.Second, Ops: uint64(rate)}
}

func spreadAround(median, spread float64, n int) (xs []float64) {
	for i := range n {
		// The order differs from the order of the figures, and between medians.
		at := float64((i*7+int(median))%n)/float64(max(1, n-1)) - 0.5
		xs = append(xs, median*(1+2*spread*at))
	}
	return xs
}

// TestVerdicts: effects on whole rounds cancel in paired runs, and hide everything in unpaired
// ones.
func TestVerdicts(t *testing.T) {
	const rounds = 20
	var weather, slow, same []float64 // the machine's speed differs by round
	for i := range rounds {
		speed := 1e6 * math.Pow(10, float64(i%7)/7)
		weather = append(weather, speed)
		slow = append(slow, speed*0.9*(1+0.01*float64(i%3)))
		same = append(same, speed*(0.99+0.01*float64(i%3)))
	}
	tolerance := func(v float64) CompareOptions { return CompareOptions{Tolerance: &v} }
	var none CompareOptions
	for _, c := range []struct {
		name      string
		base, new []float64
		o         CompareOptions
		paired    bool
		want      Verdict
		outcome   Outcome
	}{
		{"equal", spreadAround(1e6, 0.02, 10), spreadAround(1.001e6, 0.02, 10), none, false, NotWorse, Fine},
		{"all rounds the same", spreadAround(1e6, 0, 10), spreadAround(1e6, 0, 10), none, false, NotWorse, Fine},
		{"10 % slower", spreadAround(1e6, 0.02, 10), spreadAround(0.9e6, 0.02, 10), none, false, Regressed, Worse},
		{"10 % faster", spreadAround(1e6, 0.02, 10), spreadAround(1.1e6, 0.02, 10), none, false, Better, Fine},
		{"3 % slower for sure", spreadAround(1e6, 0.002, 10), spreadAround(0.97e6, 0.002, 10), none, false, NotWorse, Fine},
		{"4 % slower, perhaps 6", spreadAround(1e6, 0.03, 10), spreadAround(0.96e6, 0.03, 10), none, false, NotSignificant, Unsure},
		{"10 % slower in noise", spreadAround(1e6, 0.4, 10), spreadAround(0.9e6, 0.4, 10), none, false, NotSignificant, Unsure},
		{"perhaps faster", spreadAround(1e6, 0.06, 12), spreadAround(1.04e6, 0.06, 12), none, false, NotWorse, Fine},
		{"half as fast, three rounds", spreadAround(1e6, 0.01, 3), spreadAround(0.5e6, 0.01, 3), none, false, TooFewRounds, Unsure},
		{"four rounds do for one comparison", spreadAround(1e6, 0.01, 4), spreadAround(0.5e6, 0.01, 4), none, false, Regressed, Worse},
		{"one round", spreadAround(1e6, 0, 1), spreadAround(1e6, 0, 1), none, false, TooFewRounds, Unsure},
		{"nothing done any more", spreadAround(1e6, 0.01, 10), make([]float64, 10), none, false, Regressed, Worse},
		{"nothing done before", make([]float64, 10), spreadAround(1e6, 0.01, 10), none, false, Better, Fine},
		{"never anything", make([]float64, 10), make([]float64, 10), none, false, NotWorse, Fine},
		{"different numbers of rounds", spreadAround(1e6, 0.02, 6), spreadAround(0.9e6, 0.02, 20), none, false, Regressed, Worse},
		{"more rounds than the exact test takes", spreadAround(1e6, 0.1, 60), spreadAround(0.9e6, 0.1, 70), none, false, Regressed, Worse},
		{"tolerance 0.2", spreadAround(1e6, 0.02, 10), spreadAround(0.9e6, 0.02, 10), tolerance(0.2), false, NotWorse, Fine},
		{"tolerance 0.095", spreadAround(1e6, 0.02, 10), spreadAround(0.9e6, 0.02, 10), tolerance(0.095), false, Regressed, Worse},
		{"tolerance 0.105", spreadAround(1e6, 0.02, 10), spreadAround(0.9e6, 0.02, 10), tolerance(0.105), false, NotSignificant, Unsure},
		{"tolerance 0", spreadAround(1e6, 0.02, 10), spreadAround(0.9e6, 0.02, 10), tolerance(0), false, Regressed, Worse},
		{"a tiny alpha", spreadAround(1e6, 0.02, 10), spreadAround(0.9e6, 0.02, 10), CompareOptions{Alpha: 1e-9}, false, TooFewRounds, Unsure},
		{"slow, paired", weather, slow, none, true, Regressed, Worse},
		{"same, paired", weather, same, none, true, NotWorse, Fine},
		{"slow, not paired", weather, slow, none, false, NotSignificant, Unsure},
		{"same, not paired", weather, same, none, false, NotSignificant, Unsure},
		{"faster, paired", slow, weather, none, true, Better, Fine},
		{"five rounds, paired", weather, slow[:5], none, true, TooFewRounds, Unsure},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := madeRun(rates{"x": c.base}), madeRun(rates{"x": c.new})
			if c.paired {
				a.Manifest.Pair, b.Manifest.Pair = "p", "p"
			}
			got, err := Compare(a, b, c.o)
			requireNoError(t, err)
			if r := got.Rows[0]; r.Verdict != c.want || got.Outcome() != c.outcome || got.Paired != c.paired {
				t.Errorf("%s, %s; want %s, %s; row %+v", r.Verdict, got.Outcome(), c.want, c.outcome, r)
			}
		})
	}
	// Rounds that one side lacks are left out, since other rounds have other weather.
	a, b := madeRun(rates{"x": weather}), madeRun(rates{"x": slow})
	a.Manifest.Pair, b.Manifest.Pair = "p", "p"
	b.Results = b.Results[3:]
	got, err := Compare(a, b, none)
	requireNoError(t, err)
	if r := got.Rows[0]; r.Points[1].Before.N != rounds-3 || r.Verdict != Regressed {
		t.Errorf("%+v", r)
	}
}

func TestSelf(t *testing.T) {
	run := madeRun(rates{"x": spreadAround(1e6, 0.9, 3), "y": spreadAround(1e6, 0.5, 3)})
	run.Manifest.Started = time.Unix(7, 7)
	c, err := Compare(run, run, CompareOptions{})
	requireNoError(t, err)
	if c.Outcome() != Fine || c.Rows[0].Verdict != NotWorse || !strings.Contains(strings.Join(c.Warnings, ""), "the same run") {
		t.Errorf("%+v", c)
	}
}

func TestJudgeRatio(t *testing.T) {
	for _, x := range []struct {
		lo, hi float64 // of the ratio of a rate, the new to the old
		want   Verdict
		time   Verdict // of a time with that ratio
	}{
		{0.85, 0.95, Regressed, Better},
		{0.85, 0.954, NotSignificant, NotWorse}, // 1/1.05 is 0.952
		{0.96, 1.04, NotWorse, NotWorse},
		{0.96, 1.2, NotWorse, NotSignificant},
		{0.9, 1.04, NotSignificant, NotWorse},
		{1.06, 1.2, Better, Regressed},
		{1.04, 1.2, NotWorse, NotSignificant},
		{0.8, 1.2, NotSignificant, NotSignificant},
	} {
		ratio := stat.Ratio{Summary: stat.Summary{Median: (x.lo + x.hi) / 2, Lo: x.lo, Hi: x.hi, N: 10, Confidence: 0.97}, Level: 0.95}
		if got := judgeRatio(Metrics[0], ratio, 0.05); got != x.want {
			t.Errorf("%v to %v times the rate: %s, want %s", x.lo, x.hi, got, x.want)
		}
		if got := judgeRatio(result.P99, ratio, 0.05); got != x.time {
			t.Errorf("%v to %v times as long: %s, want %s", x.lo, x.hi, got, x.time)
		}
		if ratio.Confidence = 0.9; judgeRatio(Metrics[0], ratio, 0.05) != TooFewRounds {
			t.Errorf("%v to %v at less than the level: %s", x.lo, x.hi, judgeRatio(Metrics[0], ratio, 0.05))
		}
	}
}

func TestViolations(t *testing.T) {
	broken := func(run *result.Run, status harness.Status) *result.Run {
		for _, r := range run.Results {
			r.Lock.Status = status
		}
		i := slices.IndexFunc(run.Results, func(r *result.Result) bool { return r.Lock.Name == "x" })
		run.Results[i].Violations = []oracle.Violation{{Rule: "exclusion", Detail: "2 of 9 increments lost", Count: 2}}
		return run
	}
	whole := func(status harness.Status) *result.Run {
		run := madeRun(rates{"x": spreadAround(1e6, 0.02, 10), "y": spreadAround(1e6, 0.02, 10)})
		for _, r := range run.Results {
			r.Lock.Status = status
		}
		return run
	}
	for _, c := range []struct {
		name            string
		inBase, inNew   bool
		status          harness.Status
		want            Verdict
		outcome         Outcome
		note, notInNote string
	}{
		{"new", false, true, harness.Correct, Regressed, Worse, "NEW violated exclusion in 1 of 10 rounds: 2 of 9 increments lost", "BASE"},
		{"both", true, true, harness.Correct, Regressed, Worse, "BASE did too", ""},
		{"base", true, false, harness.Correct, NoBase, Fine, "BASE violated exclusion", "NEW"},
		{"kept for that", true, true, harness.Broken, Expected, Fine, "exclusion", ""},
		{"kept for that, now and then", false, true, harness.Historical, Expected, Fine, "exclusion", ""},
	} {
		base, new := whole(c.status), whole(c.status)
		if c.inBase {
			broken(base, c.status)
		}
		if c.inNew {
			broken(new, c.status)
		}
		got, err := Compare(base, new, CompareOptions{Metrics: Metrics[:2]})
		requireNoError(t, err)
		r := got.Rows[0]
		if len(got.Rows) != 2 || r.Verdict != c.want || got.Outcome() != c.outcome || got.Tests != 1 ||
			!strings.Contains(r.Note(), c.note) || c.notInNote != "" && strings.Contains(r.Note(), c.notInNote) {
			t.Errorf("%s: %s, %s, %q in %d rows", c.name, r.Verdict, got.Outcome(), r.Note(), len(got.Rows))
		}
		only := func(l result.Lock) bool { return l.Name == "x" }
		if _, err := Compare(base, new, CompareOptions{Locks: only}); (c.want == Regressed) != (err == nil) || err != nil && !errors.Is(err, harness.ErrUsage) {
			t.Errorf("%s, alone: %v", c.name, err)
		}
		if (r.Points[0].N == 0) != c.inBase || (r.Points[1].N == 0) != c.inNew || r.Points[0].Broke != c.inBase || r.Points[1].Broke != c.inNew || r.Points[1].Before.N != 0 {
			t.Errorf("%s: it has a speed: %+v", c.name, r)
		}
	}
}

func TestNothingToCompare(t *testing.T) {
	xs := spreadAround(1e6, 0.02, 10)
	both, some := rates{"x": xs, "y": xs}, rates{"x": xs}
	other := madeRun(some)
	for _, r := range other.Results {
		r.Workload.Workers = 2
	}
	for _, c := range []struct {
		base, new *result.Run
		o         CompareOptions
		want      string
	}{
		{madeRun(nil), madeRun(nil), CompareOptions{}, "no case in common"},
		{madeRun(some), madeRun(rates{"y": xs}), CompareOptions{}, "no case in common"},
		{madeRun(some), other, CompareOptions{}, "no case in common"}, // one worker and two
		{madeRun(both), madeRun(both), CompareOptions{Locks: func(result.Lock) bool { return false }}, "no case in common"},
		{madeRun(some), madeRun(some), CompareOptions{Metrics: []*result.Metric{result.Requests}}, "a figure of requests"},
	} {
		if _, err := Compare(c.base, c.new, c.o); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// TestFloors: figures below both clocks' resolution are equal; below one, it is a bound.
func TestFloors(t *testing.T) {
	waits := func(floor float64, wait int64) *result.Run {
		run := madeRun(rates{"x": spreadAround(1e6, 0.02, 10)})
		for i, r := range run.Results {
			r.ClockFloor = floor + float64(i)/10
			r.Wait = result.Histogram{{Value: wait + int64(i), N: 10_000}}
		}
		return run
	}
	for _, c := range []struct {
		base, new *result.Run
		want      Verdict
	}{
		{waits(20, 30), waits(22, 60), NotWorse},      // floors of 100 and 110
		{waits(20, 30), waits(20, 900), Regressed},    // from at most 100
		{waits(20, 900), waits(20, 30), Better},       // likewise
		{waits(20, 4000), waits(20, 4002), NotWorse},  // above
		{waits(20, 4000), waits(20, 5000), Regressed}, // likewise
	} {
		got, err := Compare(c.base, c.new, CompareOptions{Metrics: []*result.Metric{result.P99}})
		requireNoError(t, err)
		if r := got.Rows[0]; r.Verdict != c.want {
			t.Errorf("%s, want %s: %+v", r.Verdict, c.want, r)
		}
	}
}
