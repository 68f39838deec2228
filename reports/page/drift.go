package page

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/chart"
)

// Thresholds for a drift of the machine and for an outlier round.
const (
	driftChance  = 0.01 // the probability of such a trend in rounds of random order
	driftChange  = 0.05 // from the first round to the last
	outlierRound = 0.20 // from the median round
	outlierCases = 5    // least number of cases in an outlier round
)

// A roundSpeeds is each round's speed for one kind of lock: the median of the cases' relative rates.
type roundSpeeds struct {
	remote bool
	rounds []int // ascending
	speeds []float64
	cases  int
}

// speedsOf returns the speeds for local and distributed locks, without cases that lack rounds.
func speedsOf(run *result.Run) (out []roundSpeeds) {
	for _, remote := range []bool{false, true} {
		p := roundSpeeds{remote: remote}
		ratios := make(map[int][]float64)
		most := 0
		var cells []*chart.Cell
		for _, g := range chart.Groups(run) {
			for _, s := range g.Locks {
				for _, c := range s.Cells {
					if g.Remote == remote && !g.Open() { // the rate of an open loop is the arrival rate
						most, cells = max(most, len(c.Rounds)), append(cells, c)
					}
				}
			}
		}
		for _, c := range cells {
			if len(c.Rounds) == most {
				addSpeeds(c, ratios)
				p.cases++
			}
		}
		p.rounds = slices.Sorted(maps.Keys(ratios))
		for _, round := range p.rounds {
			p.speeds = append(p.speeds, stat.Summarize(ratios[round]).Median)
		}
		if len(p.rounds) > 0 {
			out = append(out, p)
		}
	}
	return out
}

func addSpeeds(c *chart.Cell, ratios map[int][]float64) {
	middle := c.Summary(result.Throughput).Median
	if !(middle > 0) {
		return
	}
	for round, r := range c.Rounds {
		if v, ok := result.Throughput.Of(r); ok {
			ratios[round] = append(ratios[round], v/middle)
		}
	}
}

func (p roundSpeeds) trend() stat.Trend { return stat.FindTrend(p.speeds) }

func drifted(t stat.Trend) bool {
	return t.P < driftChance && math.Abs(t.Change) > driftChange
}

// outliers returns the outlier rounds, from 1; with few cases one may cause it.
func (p roundSpeeds) outliers() (rounds []string) {
	if p.cases < outlierCases || len(p.rounds) < 3 {
		return nil
	}
	for i, v := range p.speeds {
		if math.Abs(v-1) > outlierRound {
			rounds = append(rounds, strconv.Itoa(p.rounds[i]+1))
		}
	}
	return rounds
}

// drifts returns warnings about rounds that differ as a whole. Such rounds do not affect
// comparisons within a round. They do affect comparisons across rounds and intervals.
func drifts(run *result.Run) (ws []harness.Warning) {
	for _, p := range speedsOf(run) {
		name := map[bool]string{false: "local locks", true: "distributed locks"}[p.remote]
		if t := p.trend(); drifted(t) {
			word := map[bool]string{false: "faster", true: "slower"}[t.Change < 0]
			ws = append(ws, harness.Warning{Kind: "drift",
				Text:   fmt.Sprintf("over the %d rounds the machine got %.0f %% %s for %s (Mann-Kendall test, p = %.2g)", t.N, 100*math.Abs(t.Change), word, name, t.P),
				Remedy: "compare locks within the run, by the ratios; for absolute figures let the machine come to a steady temperature and load, and run again",
			})
		}
		if rounds := p.outliers(); len(rounds) > 0 {
			ws = append(ws, harness.Warning{Kind: "drift",
				Text:   fmt.Sprintf("%d of %d rounds were more than %.0f %% off the usual speed for %s: %s", len(rounds), len(p.rounds), 100*outlierRound, name, numfmt.List(rounds, 6)),
				Remedy: "stop what runs now and then on this machine, or use more rounds, which outvote them",
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
	out := append(run.Manifest.Machine.Through(noise), machine.NoiseChecks(noise)...)
	overlap := machine.Check{Kind: "overlap", Name: "workers that ran all together (overlap)"}
	if !math.IsInf(least, 1) {
		overlap.Found, overlap.Bad = numfmt.Percent(least)+" of the window at least", least < minOverlap
	}
	out = append(out, overlap)
	for _, p := range speedsOf(run) {
		c := machine.Check{Kind: "drift", Name: "drift between rounds, " + map[bool]string{false: "local locks", true: "distributed locks"}[p.remote]}
		if t := p.trend(); t.N > 2 {
			c.Found = fmt.Sprintf("%+.1f %% from the first to the last of %d, p = %.2g", 100*t.Change, t.N, t.P)
			c.Bad = drifted(t) || len(p.outliers()) > 0
		}
		out = append(out, c)
	}
	return out
}

const minOverlap = 95
