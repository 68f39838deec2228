package judge

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"locklab/harness"
	"locklab/internal/stat"
)

const fewHistories = 40

var historyTries = flag.Int("histories", fewHistories, "how many histories TestDays draws for each line; from 100 on, for every line of docs/methodology.md")

type weather struct {
	name   string
	factor func(r *rand.Rand, last float64) float64
	random bool // the days are independent, so alarms are as rare as alpha
	to     bool // figures are ratios to another lock, with an additional scatter of 5 %
}

var weathers = []weather{
	{"± 30 %, uniform", func(r *rand.Rand, _ float64) float64 { return 0.7 + 0.6*r.Float64() }, true, false},
	{"deviation of 30 %", func(r *rand.Rand, _ float64) float64 { return math.Exp(0.3 * r.NormFloat64()) }, true, false},
	{"a neighbour takes half, every other day", func(r *rand.Rand, _ float64) float64 {
		return (1 - 0.5*float64(r.IntN(2))) * math.Exp(0.02*r.NormFloat64())
	}, true, false},
	{"deviation of 5 %", func(r *rand.Rand, _ float64) float64 { return math.Exp(0.05 * r.NormFloat64()) }, true, false},
	{"deviation of 30 %, half of it from the day before", func(r *rand.Rand, last float64) float64 {
		return math.Exp(0.5*math.Log(last) + 0.26*r.NormFloat64())
	}, false, false},
	{"the same, as ratios to another lock", func(r *rand.Rand, last float64) float64 {
		return math.Exp(0.5*math.Log(last) + 0.26*r.NormFloat64())
	}, true, true},
}

// drawDays returns a history of cases that share the day, with an additional scatter of 5
// %. From day step on the rate of the first case is multiplied by `by`.
func drawDays(r *rand.Rand, w weather, days, cases, step int, by float64) *History {
	h := &History{Alpha: DefaultAlpha, Margin: stat.DefaultMargin, Sites: []Site{{Runs: make([]Visit, days)}}}
	h.Series = make([]HistorySeries, cases)
	last := 1.0
	for day := range days {
		last = w.factor(r, last)
		reference := 1.0
		if w.to {
			reference = last * math.Exp(0.05*r.NormFloat64())
		}
		for i := range h.Series {
			s := &h.Series[i]
			s.Lock, s.Metric = harness.Lock{Name: fmt.Sprint(i)}, Metrics[0]
			x := last * math.Exp(0.05*r.NormFloat64()*float64(min(1, cases-1)))
			if i == 0 && day >= step {
				x *= by
			}
			x /= reference
			p := HistoryPoint{value: x}
			p.N, p.Median = 1, x
			s.Points = append(s.Points, p)
		}
	}
	h.steps(1)
	return h
}

func stepped(w weather, days, cases, step int, by float64) (any, found int) {
	r := rand.New(rand.NewPCG(uint64(days), uint64(cases)))
	for range *historyTries {
		h := drawDays(r, w, days, cases, step, by)
		claimed, right := 0, false
		for _, s := range h.Series {
			claimed += len(s.Changes)
			for _, c := range s.Changes {
				right = right || s.Lock.Name == "0" && c.At >= step-1 && c.At <= step+1
			}
		}
		if claimed > 0 {
			any++
		}
		if right {
			found++
		}
	}
	return any, found
}

// TestDays draws runs of equal builds with different days: steps must be as rare as
// alpha, if the days are independent. It prints the tables of docs/methodology.md.
func TestDays(t *testing.T) {
	all := *historyTries >= 100
	percent := func(n int) float64 { return 100 * float64(n) / float64(*historyTries) }
	for _, w := range weathers {
		for _, size := range [][2]int{{8, 1}, {12, 1}, {20, 1}, {12, 6}} {
			days, cases := size[0], size[1]
			if !all && (!w.random || size != [2]int{12, 1}) {
				continue
			}
			any, _ := stepped(w, days, cases, days, 1)
			t.Logf("equal builds, %s, %d runs, %d case(s): a step in %.1f %%", w.name, days, cases, percent(any))
			// Five deviations over the expected 5 %.
			if n := float64(*historyTries); w.random && float64(any) > 0.05*n+5*math.Sqrt(0.05*0.95*n) {
				t.Errorf("%s, %d runs, %d cases: a step in %d of %d histories of equal builds", w.name, days, cases, any, *historyTries)
			}
		}
	}
	for _, scatter := range []float64{0.01, 0.05, 0.3} {
		w := weather{factor: func(r *rand.Rand, _ float64) float64 { return math.Exp(scatter * r.NormFloat64()) }}
		for _, size := range [][2]int{{8, 4}, {12, 8}, {12, 10}, {20, 10}, {20, 16}, {40, 20}} {
			days, step := size[0], size[1]
			if !all && (scatter != 0.01 || days > 12) {
				continue
			}
			_, found := stepped(w, days, 1, step, 0.8)
			t.Logf("20 %% slower after %d of %d runs, deviation of %.0f %%: found in %.0f %%", step, days, 100*scatter, percent(found))
			if scatter == 0.01 && min(step, days-step) > 3 && 10*found < 9**historyTries {
				t.Errorf("20 %% slower after %d of %d steady runs: found in %d of %d", step, days, found, *historyTries)
			}
		}
	}
}
