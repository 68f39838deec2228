package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/require"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

var (
	modelWorkers = []int{1, 2, 4, 8, 22, 24, 44}
	modelLocks   = []result.Lock{
		synthetic.Local("queue", harness.Spin, harness.Correct),
		synthetic.Local("tas", harness.Spin, harness.Correct),
		synthetic.Local("ticket", harness.Spin, harness.Correct),
	}
)

// simulatedRun returns a run without measurements: model predictions for three locks on two
// machines, one of them hypothetical.
func simulatedRun() *result.Run {
	run := &result.Run{Manifest: result.Manifest{Schema: result.Schema, Command: []string{"locklab", "simulate", "--machine", "oak-2x22"}, Commit: "0123abc",
		Started: time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC), Finished: time.Date(2020, 2, 3, 5, 5, 6, 0, time.UTC)}}
	run.Simulations = simulations("oak-2x22", 2, 22, modelWorkers, modelLocks...)
	for _, s := range run.Simulations {
		if s.Lock.Name != "tas" {
			s.Accuracy = "within a typical factor of 1.2 of what was measured on this machine"
		}
	}
	wide := simulations("elm-4x64", 4, 64, []int{1, 64, 65, 128, 256}, modelLocks...)
	for _, s := range wide {
		s.Hypothetical = true
	}
	run.Simulations = append(run.Simulations, wide...)
	return run
}

// besideRun has one lock that is measured twice as fast as predicted.
func besideRun() *result.Run {
	run := synthetic.Run(1, 10, 4, []int{1, 2, 4, 8}, synthetic.Fast("queue", 4e6), synthetic.Fast("tas", 1e6))
	run.Simulations = append(simulations("ash-1x4", 1, 4, []int{1, 2, 4}, modelLocks...), simulations("oak-2x22", 2, 22, modelWorkers, modelLocks...)...)
	return run
}

// TestSimulatedIsMarked: every part of a simulated chart is marked, next to the accuracy.
func TestSimulatedIsMarked(t *testing.T) {
	for _, run := range []*result.Run{simulatedRun(), besideRun()} {
		ms := chart.ModelledOf(chart.Sanitize(run))
		charts := chart.SimulatedCharts(ms)
		if len(charts) < 4 {
			t.Fatalf("%d charts", len(charts))
		}
		for _, c := range charts {
			f := newFigure(c, c.Name)
			svg := string(must(f.SVG()))
			for what, text := range map[string]string{"title": c.Title, "answer": c.Pic.Answer, "alternative text": cutOut(svg, "<title", "</title>"), "description": cutOut(svg, "<desc", "</desc>"), "picture": svg, "heads of the table": fmt.Sprint(chart.Texts(f.Head), f.Data)} {
				if !strings.Contains(strings.ToLower(text), "simulat") {
					t.Errorf("%s: the %s does not say that it is simulated: %.200s", c.Name, what, text)
				}
				if what != "picture" && what != "heads of the table" && c.Model.Like.Hypothetical && !strings.Contains(strings.ToLower(text), "hypothetical") {
					t.Errorf("%s: the %s does not say that the machine is hypothetical: %.200s", c.Name, what, text)
				}
			}
			if !strings.Contains(f.Doc, "Accuracy") || !strings.Contains(f.Doc, "No published measurement was compared with this model.") {
				t.Errorf("%s: beside it stands %q", c.Name, f.Doc)
			}
		}
	}
}

func cutOut(s, from, to string) string {
	_, rest, _ := strings.Cut(s, from)
	text, _, _ := strings.Cut(rest, to)
	return text
}

// TestVerdictWithSimulations: simulations do not change the verdict.
func TestVerdictWithSimulations(t *testing.T) {
	with, without := besideRun(), besideRun()
	without.Simulations = nil
	for _, s := range with.Simulations { // makes the other lock appear far better
		if s.Lock.Name == "tas" {
			s.PerAcquisition = result.Expected{Median: 1, Lo: 1, Hi: 1}
		}
	}
	sheet := func(run *result.Run) string {
		return cutOut(htmlOf(t, Report(run)), `<section class="sheet"`, "</section>")
	}
	if got, want := sheet(with), sheet(without); got != want || want == "" {
		t.Errorf("the sheet with simulations is\n%s\nwithout\n%s", got, want)
	}
	if got, want := textOf(t, Report(with)), textOf(t, Report(without)); got != want {
		t.Errorf("the text with simulations is\n%s\nwithout\n%s", got, want)
	}
}

// TestSimulatedOnly: a report without measurements names no host; the goldens have its texts.
func TestSimulatedOnly(t *testing.T) {
	run := simulatedRun()
	run.Manifest.Machine.CPU, run.Manifest.Finished = "Made-up CPU", time.Time{}
	if html := htmlOf(t, Report(run)); strings.Contains(html, "Made-up CPU") || !strings.Contains(html, "Partial run: it ended after 36 simulations.") {
		t.Error("the page names a processor, or does not show that the run did not end")
	}
}

func TestBorder(t *testing.T) {
	for _, c := range []struct {
		name    string
		sockets int
		workers []int
		change  func(s *result.Simulation)
		want    float64
	}{
		{"one socket", 1, []int{1, 2, 4}, nil, 0},
		{"two", 2, []int{1, 22, 24, 44}, nil, 22.5},
		{"between far stops", 2, []int{4, 16, 32}, nil, 22.5},
		{"four", 4, []int{1, 64}, nil, 22.5},
		{"spread", 2, []int{1, 2, 44}, func(s *result.Simulation) { s.Spread = true }, 0},
		{"cores first", 2, []int{8, 32}, func(s *result.Simulation) { s.SMT, s.Apart = 2, true }, 22.5},
		{"threads first", 2, []int{8, 32}, func(s *result.Simulation) { s.SMT = 2 }, 44.5},
	} {
		run := &result.Run{Simulations: simulations("x", c.sockets, 22, c.workers, modelLocks...)}
		for _, s := range run.Simulations {
			if c.change != nil {
				c.change(s)
			}
		}
		require.Equal(t, c.name, chart.ModelledOf(run)[0].Border(), c.want)
	}
}
