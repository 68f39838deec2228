package judge

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

func day(host string, n int, locks map[string]float64) *result.Run {
	all := make(rates)
	for name, rate := range locks {
		all[name] = spreadAround(rate, 0.01, 8)
	}
	r := madeRun(all)
	r.Dir = fmt.Sprintf("%s-%02d", host, n)
	r.Manifest.Started = time.Date(2026, 3, n, 4, 5, 0, 0, time.UTC)
	r.Manifest.Finished = r.Manifest.Started.Add(time.Hour)
	r.Manifest.Seed = uint64(n)
	r.Manifest.Commit = fmt.Sprintf("%07x", 0xa0+n)
	r.Manifest.Machine.Host, r.Manifest.Machine.CPU, r.Manifest.Machine.CPUs = host, "Made-up CPU", 2
	return r
}

// days returns one run per day of a machine, with one lock of the given rates; NaN is a
// day without a planned measurement.
func days(host string, xs ...float64) (runs []*result.Run) {
	for i, x := range xs {
		locks := map[string]float64{"control": 5e6}
		if !math.IsNaN(x) {
			locks["mcs"] = x
		}
		runs = append(runs, day(host, i+1, locks))
	}
	return runs
}

func (h *History) of(t *testing.T, host, lock string) *HistorySeries {
	t.Helper()
	for i := range h.Series {
		if s := &h.Series[i]; s.Lock.Name == lock && h.Sites[s.Site].Name == host {
			return s
		}
	}
	t.Fatalf("no series of %s on %s", lock, host)
	return nil
}

func historyOf(t *testing.T, runs []*result.Run, o HistoryOptions) *History {
	t.Helper()
	h, err := NewHistory(runs, o)
	requireNoError(t, err)
	return h
}

func scatterRates(rate float64, n int) (xs []float64) {
	for i := range n {
		xs = append(xs, rate*(1+0.03*math.Sin(float64(5*i+1))))
	}
	return xs
}

func TestHistory(t *testing.T) {
	nan := math.NaN()
	level := scatterRates(1e6, 6)
	var drift []float64 // two steps of 3.5 %: one change of 7 %
	for _, x := range []float64{1e6, 0.965e6, 0.93e6} {
		for i := range 8 {
			drift = append(drift, x*(1+0.0005*float64(i)))
		}
	}
	for _, c := range []struct {
		name         string
		xs           []float64
		want         Verdict
		outcome      Outcome
		changes, off []int
	}{
		{"no step", scatterRates(1e6, 12), Steady, Fine, nil, nil},
		{"a step down", slices.Concat(level, scatterRates(0.8e6, 6)), Regressed, Worse, []int{6}, nil},
		{"a step up", slices.Concat(level, scatterRates(1.25e6, 6)), Better, Fine, []int{6}, nil},
		{"a step under the tolerance", slices.Concat([]float64{1e6, 1.001e6, 1.002e6, 1.003e6, 1.004e6, 1.005e6}, []float64{0.97e6, 0.971e6, 0.972e6, 0.973e6, 0.974e6, 0.975e6}), Steady, Fine, nil, nil},
		{"a step with a gap", slices.Concat(level, []float64{nan}, scatterRates(0.8e6, 6)), Regressed, Worse, []int{7}, nil},
		{"an off day", slices.Concat(level, []float64{0.5e6}, scatterRates(1e6, 5)), Steady, Fine, nil, []int{6}},
		{"a good day", slices.Concat(level, []float64{2e6}, scatterRates(1e6, 5)), Steady, Fine, nil, []int{6}},
		{"the newest is off", slices.Concat(level, scatterRates(1e6, 5), []float64{0.5e6}), OffRun, Unsure, nil, []int{11}},
		{"the newest is off to the better", slices.Concat(level, scatterRates(1e6, 5), []float64{2e6}), Steady, Fine, nil, []int{11}},
		{"a step, and the newest is off", slices.Concat(scatterRates(1e6, 9), scatterRates(1.25e6, 9), []float64{0.5e6}), OffRun, Unsure, []int{9}, []int{18}},
		{"two steps", slices.Concat(scatterRates(1e6, 9), scatterRates(1.25e6, 9), scatterRates(1.1e6, 9)), Regressed, Worse, []int{9, 18}, nil},
		{"two small steps", drift, Regressed, Worse, []int{16}, nil},
		{"few runs that agree", []float64{1e6, 1.001e6, 0.999e6}, NotWorse, Fine, nil, nil},
		{"few runs, one worse", []float64{1e6, 1.001e6, 0.8e6}, FewRuns, Unsure, nil, nil},
		{"few runs, ever better", []float64{1e6, 1.2e6, 1.5e6}, NotWorse, Fine, nil, nil},
		{"few runs, one off", []float64{1e6, 0.5e6, 1.001e6}, FewRuns, Unsure, nil, []int{1}},
		{"measured once", []float64{nan, nan, 1e6}, OneRun, Fine, nil, nil},
	} {
		h := historyOf(t, days("a", c.xs...), HistoryOptions{})
		s := h.of(t, "a", "mcs")
		var off []int
		changes := result.Each(s.Changes, func(c Change) int { return c.At })
		for i, p := range s.Points {
			if p.Off != "" {
				off = append(off, i)
			}
		}
		if s.Verdict != c.want || h.Outcome() != c.outcome || !slices.Equal(changes, c.changes) || !slices.Equal(off, c.off) {
			t.Errorf("%s: %s, %s, changes at %v, off %v; want %s, %s, %v, %v", c.name, s.Verdict, h.Outcome(), changes, off, c.want, c.outcome, c.changes, c.off)
		}
	}
}

func TestMachinesApart(t *testing.T) {
	var runs []*result.Run
	for n := range 8 {
		host, rate := "a", 1e6
		if n >= 4 {
			host, rate = "b", 0.5e6
		}
		runs = append(runs, day(host, n+1, map[string]float64{"mcs": rate * (1 + 0.001*float64(n))}))
	}
	h := historyOf(t, runs, HistoryOptions{})
	if len(h.Sites) != 2 || len(h.Series) != 2 || h.Outcome() != Fine {
		t.Errorf("%d machines, %d series, %s: two machines were mixed", len(h.Sites), len(h.Series), h.Outcome())
	}
	if h = historyOf(t, runs, HistoryOptions{CompareOptions: CompareOptions{AnyHost: true}}); len(h.Sites) != 1 || h.Outcome() != Worse {
		t.Errorf("%d machines, %s: with AnyHost they are one, with a step", len(h.Sites), h.Outcome())
	}
	runs = days("a", 1e6, 1e6, 1e6, 1e6)
	runs[2].Manifest.Machine.CPUs, runs[3].Manifest.Machine.CPUs = 4, 4
	if h := historyOf(t, runs, HistoryOptions{}); len(h.Sites) != 2 || h.Sites[0].Name == h.Sites[1].Name {
		t.Errorf("two machines of one name: %+v", h.Sites)
	}
	runs = days("a", 1e6, 1e6, 1e6)
	runs[2].Manifest.Machine.Kernel, runs[1].Manifest.Commit = "6.18", runs[0].Manifest.Commit
	h = historyOf(t, runs, HistoryOptions{})
	if visits := h.Sites[0].Runs; len(visits) != 3 || !slices.Contains(visits[2].Differs, "kernel unknown and 6.18") || !visits[1].SameCode || visits[2].SameCode {
		t.Errorf("another kernel is a condition of the same machine, the same commit the same code: %+v", h.Sites)
	}
}

func TestHistoryOrder(t *testing.T) {
	runs := days("a", 1e6, 1e6, 1e6)
	slices.Reverse(runs)
	for given, want := range map[bool]string{false: "00000a1 00000a2 00000a3", true: "00000a3 00000a2 00000a1"} {
		got := result.Each(historyOf(t, runs, HistoryOptions{AsGiven: given}).Sites[0].Runs, func(v Visit) string { return v.Commit() })
		if strings.Join(got, " ") != want {
			t.Errorf("as given %v: %q, want %q", given, got, want)
		}
	}
}

func TestNoHistory(t *testing.T) {
	one := days("a", 1e6)
	other := days("b", 1e6)
	other[0].Manifest.Seed = 9
	apart := days("a", 1e6, 1e6)
	apart[0].Results = slices.DeleteFunc(apart[0].Results, func(r *result.Result) bool { return r.Lock.Name == "control" })
	apart[1].Results = slices.DeleteFunc(apart[1].Results, func(r *result.Result) bool { return r.Lock.Name != "control" })
	for want, runs := range map[string][]*result.Run{
		"two runs at least, got 0": nil,
		"two runs at least, got 1": one,
		"of one machine if":        {one[0], other[0]},
		"in two runs of one":       apart,
	} {
		if _, err := NewHistory(runs, HistoryOptions{}); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestHistoryGaps(t *testing.T) {
	breaks := func(r *result.Run, status harness.Status) {
		for _, x := range r.Results {
			if x.Lock.Name == "mcs" {
				x.Lock.Status = status
				x.Violations = []oracle.Violation{{Rule: "exclusion", Detail: "2 of 9 increments lost", Count: 2}}
			}
		}
	}
	without := func(r *result.Run) {
		r.Results = slices.DeleteFunc(r.Results, func(x *result.Result) bool { return x.Lock.Name == "mcs" })
	}
	for _, c := range []struct {
		name    string
		edit    func(runs []*result.Run)
		want    Verdict
		outcome Outcome
		at      int
		gap     string
	}{
		{"a violation in the newest", func(rs []*result.Run) { breaks(rs[3], harness.Correct) }, Regressed, Worse, 3, "run 4 violated exclusion in 8 of 8 rounds"},
		{"a broken lock", func(rs []*result.Run) { breaks(rs[3], harness.Broken) }, Expected, Fine, 3, "run 4 violated exclusion"},
		{"a violation before", func(rs []*result.Run) { breaks(rs[1], harness.Correct) }, NotWorse, Fine, 1, "run 2 violated exclusion"},
		{"skipped in the newest", func(rs []*result.Run) {
			without(rs[3])
			rs[3].Manifest.Skipped = []result.Skip{{Lock: "mcs", Reason: "no server"}}
		}, Unmeasured, Unsure, 3, "run 4 skipped it: no server"},
		{"lost before", func(rs []*result.Run) {
			without(rs[1])
			rs[1].Manifest.Lost = []result.Loss{{Case: "lock=mcs/workers=1/hold=0s", Reason: "killed"}}
		}, NotWorse, Fine, 1, "run 2 lost it: killed"},
		{"never planned in the newest", func(rs []*result.Run) { without(rs[3]) }, NotWorse, Fine, 3, "run 4 was not to measure it"},
		{"rounds lacking in the newest", func(rs []*result.Run) { rs[3].Manifest.Rounds = 9 }, Unmeasured, Unsure, 3, "run 4 has 8 of its 9 rounds"},
	} {
		runs := days("a", 1e6, 1.001e6, 0.999e6, 1e6)
		c.edit(runs)
		h := historyOf(t, runs, HistoryOptions{})
		s := h.of(t, "a", "mcs")
		p := s.Points[c.at]
		if s.Verdict != c.want || h.Outcome() != c.outcome || !strings.Contains(p.Gap, c.gap) || p.Broke && p.N > 0 {
			t.Errorf("%s: %s, %s, %q with %d rounds; want %s, %s, %q", c.name, s.Verdict, h.Outcome(), p.Gap, p.N, c.want, c.outcome, c.gap)
		}
	}
}

func TestTogether(t *testing.T) {
	for slowed, want := range map[int]bool{1: false, 3: true} {
		var runs []*result.Run
		for n := range 12 {
			locks := make(map[string]float64)
			for i := range 4 {
				rate := 1e6 * float64(i+1) * (1 + 0.001*float64((n*(i+5))%7))
				if n >= 6 && i < slowed {
					rate *= 0.7
				}
				locks[string(rune('a'+i))] = rate
			}
			runs = append(runs, day("a", n+1, locks))
		}
		text := strings.Join(historyOf(t, runs, HistoryOptions{}).Warnings, "\n")
		if got := strings.Contains(text, "3 of the 4 cases on a changed at run 7"); got != want {
			t.Errorf("%d of 4 cases slowed: warned %v, want %v: %q", slowed, got, want, text)
		}
	}
}
