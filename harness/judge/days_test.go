package judge

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"locklab/harness/result"
	"locklab/internal/stat"
)

var historyTries = flag.Int("histories", 40, "how many histories TestDays draws for each line; from 100 on, for every line of docs/methodology.md")

type weather struct {
	name   string
	factor func(r *rand.Rand, last float64) float64
	random bool // the days are independent, so alarms are as rare as alpha
	to     bool // figures are ratios to another lock, with an additional scatter of 5 %
}

func drawFromDayBefore(r *rand.Rand, last float64) float64 {
	return math.Exp(0.5*math.Log(last) + 0.26*r.NormFloat64())
}

var weathers = []weather{
	{"± 30 %, uniform", func(r *rand.Rand, _ float64) float64 { return 0.7 + 0.6*r.Float64() }, true, false},
	{"a neighbour takes half, every other day", func(r *rand.Rand, _ float64) float64 {
		return (1 - 0.5*float64(r.IntN(2))) * math.Exp(0.02*r.NormFloat64())
	}, true, false},
	{"deviation of 30 %, half of it from the day before", drawFromDayBefore, false, false},
	{"the same, as ratios to another lock", drawFromDayBefore, true, true},
}

// drawDays returns a history of cases of equal builds that share the day, with an additional
// scatter of 5 %.
func drawDays(r *rand.Rand, w weather, days, cases int) *History {
	h := &History{Alpha: DefaultAlpha, Tolerance: stat.DefaultTolerance, Sites: []Site{{Runs: make([]Visit, days)}}, Series: make([]HistorySeries, cases)}
	last := 1.0
	for range days {
		last = w.factor(r, last)
		reference := 1.0
		if w.to {
			reference = last * math.Exp(0.05*r.NormFloat64())
		}
		for i := range h.Series {
			s := &h.Series[i]
			s.Lock, s.Metric = result.Lock{Name: fmt.Sprint(i)}, Metrics[0]
			x := last * math.Exp(0.05*r.NormFloat64()*float64(min(1, cases-1))) / reference
			s.Points = append(s.Points, HistoryPoint{value: x, Summary: stat.Summary{N: 1, Median: x}})
		}
	}
	h.steps(1)
	return h
}

// TestDays draws runs of equal builds with different days: steps must be as rare as
// alpha, if the days are independent. It prints the figures of docs/methodology.md.
func TestDays(t *testing.T) {
	tries := float64(*historyTries)
	for _, w := range weathers {
		for _, size := range [][2]int{{8, 1}, {12, 1}, {20, 1}, {12, 6}} {
			days, cases := size[0], size[1]
			if tries < 100 && (!w.random || size != [2]int{12, 1}) {
				continue
			}
			r, alarms := rand.New(rand.NewPCG(uint64(days), uint64(cases))), 0.0
			for range *historyTries {
				for _, s := range drawDays(r, w, days, cases).Series {
					if len(s.Changes) > 0 {
						alarms++
						break
					}
				}
			}
			t.Logf("%s, %d runs, %d case(s): a step in %.1f %%", w.name, days, cases, 100*alarms/tries)
			// Five deviations over the expected 5 %.
			if w.random && alarms > 0.05*tries+5*math.Sqrt(0.05*0.95*tries) {
				t.Errorf("%s, %d runs, %d cases: a step in %v of %v histories of equal builds", w.name, days, cases, alarms, tries)
			}
		}
	}
}
