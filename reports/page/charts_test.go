package page

import (
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

// gallery returns a small synthetic run with some settings of otherSettings. With all of them
// every chart of the Suite has data.
func gallery(rounds int, settings ...string) *result.Run {
	falling := func(from float64) func(int) float64 {
		return func(w int) float64 { return from / math.Sqrt(float64(w)) }
	}
	locals := []synthetic.Model{
		{Lock: synthetic.Local("fair", harness.Spin, harness.Correct), Rate: falling(2e6), Handed: 1, Noise: 0.02},
		{Lock: synthetic.Local("greedy", harness.Spin, harness.Correct), Rate: falling(6e6), Skew: 3, Handed: 0.02, Noise: 0.02},
		{Lock: synthetic.Local("parking", harness.Blocking, harness.Correct), Rate: falling(3e6), Skew: 0.6, Handed: 0.3, Noise: 0.02},
		{Lock: synthetic.Local("old", harness.Blocking, harness.Correct), Rate: falling(1.5e6), Skew: 0.6, Handed: 0.3, Noise: 0.02},
		{Lock: synthetic.Local("nothing", harness.Blocking, harness.Control), Rate: synthetic.Constant(400e6), Noise: 0.001},
	}
	servers := []synthetic.Model{
		{Lock: synthetic.Served("herd", harness.ZooKeeper, harness.KindZooKeeper), Rate: falling(9e3), Handed: 1, Noise: 0.02},
		{Lock: synthetic.Served("queue", harness.ZooKeeper, harness.KindZooKeeper), Rate: falling(7e3), Handed: 1, Noise: 0.02},
		{Lock: synthetic.Served("poll", harness.Redis, harness.KindRedis), Rate: falling(4e4), Skew: 2, Handed: 0.1, Noise: 0.02},
	}
	servers[1].Lock.Traits.FIFO = true
	base := synthetic.Run(5, rounds, 2, []int{1, 2, 8}, append(locals, servers...)...)
	for _, r := range base.Results {
		if r.Lock.Name == "herd" {
			r.Wire = &harness.Counts{Requests: r.Ops * uint64(r.Workload.Workers), Notifications: r.Ops * uint64(r.Workload.Workers)}
		}
	}
	run := *base
	for _, name := range settings {
		if name == openLoops {
			run.Results = append(run.Results, opened(base)...)
			continue
		}
		run.Results = append(run.Results, vary(base, otherSettings[name], 0.5)...)
	}
	run.Findings = laboratory().Findings
	return &run
}

const openLoops = "open"

// opened returns base with eight workers as open loops, too fast for some locks.
func opened(base *result.Run) (out []*harness.Result) {
	for _, r := range base.Results {
		if r.Workload.Workers != 8 || r.Lock.Status == harness.Control {
			continue
		}
		rates := []harness.Rate{100e3, 500e3, 1e6, 2e6}
		if r.Lock.Traits.Needs != "" {
			rates = []harness.Rate{500, 1e3, 2e3, 5e3}
		}
		if r.Lock.Name == "old" { // each lock may have its own rates
			rates = rates[:3]
		}
		for _, rate := range rates {
			out = append(out, openLoop(r, rate))
		}
	}
	return out
}

var everySetting = []string{"hold", "pinning", openLoops}

// TestSuite: every chart is complete. Of the gallery it has a picture and a table, whose
// columns link to their metrics.
func TestSuite(t *testing.T) {
	gs := chart.Groups(gallery(8, everySetting...))
	seen := make(map[string]bool)
	for _, c := range chart.Suite {
		if !chart.NameRE.MatchString(c.Name) || seen[c.Name] || !strings.HasSuffix(c.Title, "?") || c.Doc == "" || c.Draw == nil {
			t.Fatalf("chart %q is incomplete, or its name is taken", c.Name)
		}
		seen[c.Name] = true
		pic := c.Draw(chart.Largest(gs, c.Remote))
		if pic.Height == 0 || len(pic.Numbers.Rows) == 0 || len(pic.Numbers.Head) == 0 {
			t.Errorf("chart %s lacks a picture or a table: %s", c.Name, pic.Answer)
		}
		for _, h := range pic.Numbers.Head {
			for _, m := range result.Metrics {
				if named := h.Text == m.Name || h.Text == m.Unit; named && h.Metric != m {
					t.Errorf("chart %s: the column %s does not link to that metric", c.Name, h.Text)
				}
			}
		}
	}
}

func TestOrderOfInput(t *testing.T) {
	run := gallery(6, everySetting...)
	before := charts(t, run)
	rng := rand.New(rand.NewPCG(1, 1))
	rng.Shuffle(len(run.Results), func(i, k int) { run.Results[i], run.Results[k] = run.Results[k], run.Results[i] })
	for name, after := range charts(t, run) {
		if before[name] != after {
			t.Errorf("chart %s changes with the order of the results %s", name, firstDifference([]byte(after), []byte(before[name])))
		}
	}
}

func charts(t *testing.T, run *result.Run) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, p := range Posters(run) {
		out[p.Name] = written(t, func(w io.Writer) error { return writeSVG(w, p) })
	}
	return out
}
