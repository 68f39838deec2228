package page

import (
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

func breaking(m *synthetic.Model)  { m.Breaks = true }
func noiseless(m *synthetic.Model) { m.Noise = 0 }
func asPeer(m *synthetic.Model)    { m.Lock.Family = harness.Peer }

func withStatus(s harness.Status) func(*synthetic.Model) {
	return func(m *synthetic.Model) { m.Lock.Status = s }
}

func served(name string, rate float64, edits ...func(*synthetic.Model)) synthetic.Model {
	m := synthetic.Model{Lock: synthetic.Served(name, harness.Redis, harness.KindRedis), Rate: synthetic.Constant(rate), Handed: 1, Noise: 0.01}
	return synthetic.With(m, edits...)
}

func rankedRun(rounds int) *result.Run {
	return synthetic.Run(3, rounds, 2, []int{1, 2, 8},
		blocking("delta", 2e6), blocking("sync-mutex", 3e6), blocking("alpha", 1e6), blocking("gamma", 4e6), blocking("beta", 5e6),
		synthetic.With(blocking("epsilon", 6e6), withStatus(harness.Historical)),
		synthetic.With(synthetic.Fast("empty", 9e9), withStatus(harness.Control)),
		synthetic.With(synthetic.Fast("breaker", 8e6), breaking),
		served("queue", 3000), served("poll", 1000), served("redsync", 2000, asPeer), served("rueidis", 1500, asPeer), served("lost", 4000),
	)
}

// TestRanking: rows are sorted by median, every lock of the kind has one, and the chosen lock,
// the default and the best peer have marks.
func TestRanking(t *testing.T) {
	run, odd := rankedRun(20), rankedRun(20)
	for _, r := range odd.Results {
		if r.Lock.Name == "alpha" && r.Round < 3 { // its mean is the greatest, and its interval is wide
			r.Ops, r.Handovers = 100*r.Ops, 100*r.Handovers
			for i := range r.Workers {
				r.Workers[i] *= 100
			}
		}
	}
	for _, c := range []struct {
		run   *result.Run
		chart *chart.Chart
		want  []string
	}{
		{run, chart.RankingLocal, []string{"epsilon (historical) –", "beta chosen", "gamma –", "sync-mutex default", "delta –", "alpha –"}},
		{odd, chart.RankingLocal, []string{"epsilon (historical) –", "beta chosen", "gamma –", "sync-mutex default", "delta –", "alpha not slower"}},
		{run, chart.RankingRemote, []string{"lost chosen", "queue –", "redsync best peer", "rueidis –", "poll –"}},
	} {
		var got []string
		for _, row := range c.chart.Drawn(c.chart.Subject(chart.Groups(chart.Sanitize(c.run)))).Numbers.Rows {
			got = append(got, row[0]+" "+row[len(row)-1])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the locks stand in the order %q, want %q", c.chart.Name, got, c.want)
		}
	}
	if svg := numfmt.Plain(svgOf(t, run, chart.RankingLocal.Name)); !strings.Contains(svg, "broke a promise in this run: breaker (exclusion).") {
		t.Error("the chart does not name the lock that broke a promise")
	}
}
