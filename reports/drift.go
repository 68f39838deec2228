package reports

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
)

// What counts as a drift of the machine, and as a round that stands out.
const (
	driftChance = 0.01 // the probability that rounds in random order show it
	driftChange = 0.05 // from the first round to the last
	oddRound    = 0.20 // from the median round
	oddCases    = 5    // that a round must have to stand out
)

// A pace is how fast the rounds of a run were, for one kind of lock: of each, the
// median over all cases of the rate over the case's median rate.
type pace struct {
	remote bool
	rounds []int // ascending
	speeds []float64
	cases  int
}

// paces returns the pace of local locks and of those kept by servers. Every case
// is in every round, so the same cases are compared; those that lack rounds, as
// at the end of an interrupted run, are left out.
func paces(run *resultfile.Run) (out []pace) {
	for _, remote := range []bool{false, true} {
		p := pace{remote: remote}
		ratios := make(map[int][]float64)
		most := 0
		gs := slices.DeleteFunc(groups(run), func(g *group) bool { return g.Open() }) // there the rate is that of the arrivals
		for _, g := range gs {
			for _, s := range g.series {
				for _, c := range s.Cells {
					if g.Remote == remote {
						most = max(most, len(c.Rounds))
					}
				}
			}
		}
		for _, g := range gs {
			for _, s := range g.series {
				for _, w := range slices.Sorted(maps.Keys(s.Cells)) {
					if c := s.Cells[w]; g.Remote == remote && len(c.Rounds) == most {
						addPace(c, ratios)
						p.cases++
					}
				}
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

// addPace adds to ratios the rate of each round of c over the median rate.
func addPace(c *cell, ratios map[int][]float64) {
	middle := c.Summary(metric.Throughput).Median
	if !(middle > 0) {
		return
	}
	for round, r := range c.Rounds {
		if v, ok := metric.Throughput.Of(r); ok {
			ratios[round] = append(ratios[round], v/middle)
		}
	}
}

// trend returns the trend of the speeds, whose Change is a share.
func (p pace) trend() stat.Trend { return stat.FindTrend(p.speeds) }

// drifted reports whether t is more than chance and more than nothing.
func drifted(t stat.Trend) bool {
	return t.P < driftChance && math.Abs(t.Change) > driftChange
}

// odd returns the rounds that stand out, counted from 1. With few cases a round
// may stand out by one of them.
func (p pace) odd() (rounds []string) {
	if p.cases < oddCases || len(p.rounds) < 3 {
		return nil
	}
	for i, v := range p.speeds {
		if math.Abs(v-1) > oddRound {
			rounds = append(rounds, strconv.Itoa(p.rounds[i]+1))
		}
	}
	return rounds
}

// drifts returns warnings about rounds that differ as wholes. Comparisons within
// a round do not suffer from that; figures of different rounds, and the intervals
// of a figure, do.
func drifts(run *resultfile.Run) (ws []harness.Warning) {
	for _, p := range paces(run) {
		name := map[bool]string{false: "local locks", true: "distributed locks"}[p.remote]
		if t := p.trend(); drifted(t) {
			word := map[bool]string{false: "faster", true: "slower"}[t.Change < 0]
			ws = append(ws, harness.Warning{Kind: "drift",
				Text:   fmt.Sprintf("over the %d rounds the machine got %.0f %% %s for %s (Mann-Kendall test, p = %.2g)", t.N, 100*math.Abs(t.Change), word, name, t.P),
				Remedy: "compare locks within the run, by the ratios; for absolute figures let the machine come to a steady temperature and load, and run again",
			})
		}
		if odd := p.odd(); len(odd) > 0 {
			ws = append(ws, harness.Warning{Kind: "drift",
				Text:   fmt.Sprintf("%d of %d rounds were more than %.0f %% off the usual speed for %s: %s", len(odd), len(p.rounds), 100*oddRound, name, numfmt.List(odd, 6)),
				Remedy: "stop what runs now and then on this machine, or use more rounds, which outvote them",
			})
		}
	}
	return ws
}

// checks returns all that was looked at before the figures of run are believed.
func checks(run *resultfile.Run) []machine.Check {
	if run.Manifest.Machine.OS == "" && len(run.Results) == 0 {
		return nil
	}
	var noise []harness.Noise
	least := math.Inf(1)
	for _, r := range run.Results {
		if r.Noise != nil {
			noise = append(noise, *r.Noise)
		}
		if v, ok := metric.Overlap.Of(r); ok {
			least = min(least, v)
		}
	}
	out := append(run.Manifest.Machine.Through(noise), machine.NoiseChecks(noise)...)
	overlap := machine.Check{Kind: "overlap", Name: "workers that ran all together (overlap)"}
	if !math.IsInf(least, 1) {
		overlap.Found, overlap.Bad = numfmt.Percent(least)+" of the window at least", least < minOverlap
	}
	out = append(out, overlap)
	for _, p := range paces(run) {
		c := machine.Check{Kind: "drift", Name: "drift between rounds, " + map[bool]string{false: "local locks", true: "distributed locks"}[p.remote]}
		if t := p.trend(); t.N > 2 {
			c.Found = fmt.Sprintf("%+.1f %% from the first to the last of %d, p = %.2g", 100*t.Change, t.N, t.P)
			c.Bad = drifted(t) || len(p.odd()) > 0
		}
		out = append(out, c)
	}
	return out
}

// minOverlap is the overlap, in percent, under which a result carries a warning.
const minOverlap = 95
