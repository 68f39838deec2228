package page

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

// Thresholds for a drift of the machine, and for the overlap of the workers in percent.
const (
	driftChance = 0.01 // the probability of such a trend in rounds of random order
	driftChange = 0.05 // from the first round to the last
	minOverlap  = 95
)

func caseOf(r *harness.Result) string { return r.Lock.Name + " " + r.Workload.Name() }

// speedTrend returns the trend over the rounds of the speed of one kind of lock. The speed of
// a round is the median over its cases of the rate divided by the median rate of the case.
func speedTrend(run *result.Run, remote bool) stat.Trend {
	rates, medians, ratios := make(map[string][]float64), make(map[string]float64), make(map[int][]float64)
	closed := func(r *harness.Result) (float64, bool) {
		v, ok := result.Throughput.Of(r)
		return v, ok && r.Workload.Rate == 0 && (r.Lock.Traits.Needs != "") == remote // the rate of an open loop is the arrival rate
	}
	for _, r := range run.Results {
		if v, ok := closed(r); ok {
			rates[caseOf(r)] = append(rates[caseOf(r)], v)
		}
	}
	for name, vs := range rates {
		medians[name] = stat.Summarize(vs).Median
	}
	for _, r := range run.Results {
		if v, ok := closed(r); ok && medians[caseOf(r)] > 0 {
			ratios[r.Round] = append(ratios[r.Round], v/medians[caseOf(r)])
		}
	}
	var speeds []float64
	for _, round := range slices.Sorted(maps.Keys(ratios)) {
		speeds = append(speeds, stat.Summarize(ratios[round]).Median)
	}
	return stat.FindTrend(speeds)
}

func drifted(t stat.Trend) bool {
	return t.P < driftChance && math.Abs(t.Change) > driftChange
}

// drifts returns warnings about trends. Comparisons within a round are not affected.
func drifts(run *result.Run) (ws []harness.Warning) {
	for _, remote := range []bool{false, true} {
		if t := speedTrend(run, remote); drifted(t) {
			word := map[bool]string{false: "faster", true: "slower"}[t.Change < 0]
			ws = append(ws, harness.Warning{Kind: "drift",
				Text:   fmt.Sprintf("over the %d rounds the machine got %.0f %% %s for %s (Mann-Kendall test, p = %.2g)", t.N, 100*math.Abs(t.Change), word, strings.ToLower(kind(remote)), t.P),
				Remedy: "compare locks within the run, by the ratios; for absolute figures let the machine come to a steady temperature and load, and run again",
			})
		}
	}
	return ws
}

func checks(run *result.Run) []machine.Check {
	if run.Manifest.Machine.OS == "" && len(run.Results) == 0 {
		return nil
	}
	var noise []harness.Noise
	least := math.Inf(1)
	for _, r := range run.Results {
		if r.Noise != nil {
			noise = append(noise, *r.Noise)
		}
		if v, ok := result.Overlap.Of(r); ok {
			least = min(least, v)
		}
	}
	overlap := machine.Check{Kind: "overlap", Name: "workers that ran all together (overlap)"}
	if !math.IsInf(least, 1) {
		overlap.Found, overlap.Bad = numfmt.Percent(least)+" of the window at least", least < minOverlap
	}
	out := append(slices.Concat(run.Manifest.Machine.Through(noise), machine.NoiseChecks(noise)), overlap)
	for _, remote := range []bool{false, true} {
		if t := speedTrend(run, remote); t.N > 2 {
			out = append(out, machine.Check{Kind: "drift", Name: "drift between rounds, " + strings.ToLower(kind(remote)), Bad: drifted(t),
				Found: fmt.Sprintf("%+.1f %% from the first to the last of %d, p = %.2g", 100*t.Change, t.N, t.P)})
		}
	}
	return out
}
