package page

import (
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/reports/chart"
)

func TestSaturations(t *testing.T) {
	// The queues serve 707 k/s (fair), 2.1 M/s (greedy), 1.06 M/s (parking) and 530 k/s (old).
	run := gallery(3, openLoops)
	for _, r := range run.Results {
		if r.Open != nil && r.Lock.Name == "parking" {
			r.Wait = harness.Histogram{{Value: 1000, N: 90}} // too few for p99
		}
	}
	g := chart.Largest(chart.Groups(run), false)
	s := g.Loads()
	want := map[string]harness.Rate{"fair": 500e3, "greedy": 1e6, "old": 100e3}
	for _, l := range s.Locks {
		rate, known := want[l.S.Lock.Name]
		if l.HasSaturation != known || known && (l.Saturation.UpTo != rate || !(l.Saturation.From > 0 && l.Saturation.From <= rate && l.Saturation.Over > rate)) {
			t.Errorf("the saturation point of %s is %+v, %v; want %v", l.S.Lock.Name, l.Saturation, l.HasSaturation, rate)
		}
	}
	if got := chart.LoadLocal.Draw(g).Answer; !strings.HasPrefix(got, "The saturation point of greedy is highest: 1M/s [") || !strings.Contains(got, "That of old is lowest: 100k/s [") {
		t.Errorf("the answer is %q", got)
	}
	for _, to := range []harness.Rate{0, 2e6} { // beyond all rates, and beyond the rate of greedy
		for _, l := range s.Locks {
			if l.S.Lock.Name == "old" {
				l.Saturation.To = to
			}
		}
		if got := s.Answer(); !strings.HasPrefix(got, "The saturation points do not differ significantly: greedy has it at 1M/s [") {
			t.Errorf("the answer is %q", got)
		}
	}
}

func TestOpenLoopsRankNothing(t *testing.T) {
	run := gallery(8, openLoops)
	plain := gallery(8)
	for _, c := range []*chart.Chart{chart.RankingLocal, chart.ThroughputLocal, chart.JainLocal, chart.HandoversRemote} {
		got, want := c.Subject(chart.Groups(run)), c.Subject(chart.Groups(plain))
		if got.Open() || got.Axes != want.Axes || c.Drawn(got).Answer != c.Drawn(want).Answer {
			t.Errorf("%s: open loops change the answer to %q, it was %q", c.Name, c.Drawn(got).Answer, c.Drawn(want).Answer)
		}
	}
	only := new(result.Run)
	for _, r := range gallery(3, openLoops).Results {
		if r.Open != nil {
			only.Results = append(only.Results, r)
		}
	}
	var names []string
	for _, f := range composeFigures(only) {
		names = append(names, f.Name)
	}
	if want := []string{chart.LoadLocal.Name, chart.LoadRemote.Name}; !slices.Equal(names, want) {
		t.Errorf("a run of open loops has the charts %q, want %q", names, want)
	}
}

func composeFigures(run *result.Run) (out []figure) {
	for _, s := range compose(run).Sections {
		out = append(out, s.Figures...)
	}
	return out
}

// TestLoadsUnderConditions: of several sets of conditions the one with the most rates is drawn,
// with its conditions next to the chart.
func TestLoadsUnderConditions(t *testing.T) {
	run := gallery(3, openLoops)
	for _, r := range slices.Clone(run.Results) {
		if r.Open != nil && r.Lock.Traits.Needs != "" && r.Workload.Rate > 500 {
			far := *r
			far.Workload.Servers, far.Workload.Durable = 3, true
			run.Results = append(run.Results, &far)
		}
	}
	var docs []string
	for _, f := range composeFigures(run) {
		if f.Name == chart.LoadRemote.Name {
			docs = append(docs, f.Doc)
		}
	}
	if len(docs) != 1 || !strings.HasSuffix(docs[0], " Workload: 8 workers, hold=100ns.") {
		t.Errorf("the charts of open loops are described by %q", docs)
	}
}
