package chart

import (
	"math"
	"slices"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/synthetic"
)

// TestCosts: the rest of a turn is subtracted; a remainder within the noise is a bound.
func TestCosts(t *testing.T) {
	const turn = 100 // ns of the control
	costs := func(ns, noise float64) func(m *synthetic.Model) {
		return func(m *synthetic.Model) { m.Rate, m.Noise = synthetic.Constant(1e9/(turn+ns)), noise }
	}
	control := synthetic.With(synthetic.Fast("nothing", 0), costs(0, 0))
	control.Lock.Status = harness.Control
	run := synthetic.Run(6, 10, 2, []int{1}, control,
		synthetic.With(synthetic.Fast("cheap", 0), costs(20, 0)), synthetic.With(synthetic.Fast("dear", 0), costs(400, 0)), synthetic.With(synthetic.Fast("lost", 0), costs(0, 0.1)),
		synthetic.Model{Lock: synthetic.Served("server", harness.Redis, harness.KindRedis), Rate: synthetic.Constant(1e4)})
	for _, r := range run.Results {
		if r.Lock.Name == "server" { // 100 µs, of which 50 are held
			r.Hold = harness.Spans{N: 10, Sum: 500 * time.Microsecond}
		}
	}
	got := make(map[string]costRow)
	for _, r := range Groups(run)[0].costRows() {
		got[r.name] = r
	}
	for name, want := range map[string]float64{"cheap": 20, "dear": 400, "server": 50000} {
		if r := got[name]; r.atMax || math.Abs(r.Median-want) > 0.001*want {
			t.Errorf("%s costs %+v, want %v ns", name, r.Summary, want)
		}
	}
	if r := got["lost"]; !r.atMax || r.Median <= 0 {
		t.Errorf("lost costs %+v, want a bound", r)
	}
	if _, there := got["nothing"]; there {
		t.Error("the control is in the cost chart")
	}
	run.Results = slices.DeleteFunc(run.Results, func(r *harness.Result) bool { return r.Lock.Name == "nothing" })
	for _, r := range Groups(run)[0].costRows() {
		if r.name == "cheap" && (!r.atMax || math.Abs(r.Median-turn-20) > 0.1) {
			t.Errorf("without a control cheap costs %+v, want the whole turn as a bound", r)
		}
	}
}
