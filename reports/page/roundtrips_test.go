package page

import (
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

// distant is a synthetic run on two kinds of server; model.result sets the round trips.
func distant(rounds int) *result.Run {
	quick := synthetic.Model{Lock: synthetic.Served("quick", harness.Redis, harness.KindRedis), Rate: synthetic.Constant(1e4), Handed: 1}
	stingy := synthetic.Model{Lock: synthetic.Served("stingy", harness.Peer, harness.KindRedis), Rate: synthetic.Constant(2e4), Handed: 0.1}
	keeper := synthetic.Model{Lock: synthetic.Served("keeper", harness.ZooKeeper, harness.KindZooKeeper), Rate: synthetic.Constant(2e3), Handed: 1}
	nothing := synthetic.Model{Lock: synthetic.Served("nothing", harness.Redis, harness.KindRedis), Rate: synthetic.Constant(1e6), Handed: 1}
	nothing.Lock.Status = harness.Control
	near := synthetic.Model{Lock: synthetic.Local("near", harness.Spin, harness.Correct), Rate: synthetic.Constant(1e6), Handed: 1}
	return synthetic.Run(3, rounds, 2, []int{1, 8}, quick, stingy, keeper, nothing, near)
}

func TestTurnsInRoundTrips(t *testing.T) {
	pic := chart.HandoversRemote.Draw(chart.Largest(chart.Groups(distant(10)), true))
	rows := make(map[string][]string)
	for _, r := range pic.Numbers.Rows {
		rows[r[0]+" "+r[1]] = r
	}
	for name, want := range map[string]string{"quick 1": "4.78", "quick 8": "4.79", "stingy 1": "2.39", "stingy 8": "23.9"} {
		if got := rows[name][slices.Index(chart.Texts(pic.Numbers.Head), "turn-roundtrips")]; got != want {
			t.Errorf("%s: a turn takes %s, want %s", name, got, want)
		}
	}
}

// TestWithoutRoundTrips: round trips are shown for distributed locks, if measured.
func TestWithoutRoundTrips(t *testing.T) {
	for _, old := range []bool{false, true} {
		run := distant(6)
		for _, r := range run.Results {
			if old {
				r.RoundTrip = 0
			}
		}
		for _, c := range []*chart.Chart{chart.HandoversRemote, chart.RequestsRemote, chart.WaitRemote, chart.ThroughputLocal, chart.WaitLocal} {
			numbers := c.Draw(chart.Largest(chart.Groups(run), c.Remote)).Numbers
			has := slices.ContainsFunc(chart.Texts(numbers.Head), func(h string) bool { return strings.Contains(h, "roundtrip") })
			if has != (c.Remote && !old) {
				t.Errorf("an old file is %v: the table of %s has the columns %v", old, c.Name, numbers.Head)
			}
			for _, row := range numbers.Rows {
				if len(row) != len(numbers.Head) {
					t.Errorf("%s: %d cells under %d heads", c.Name, len(row), len(numbers.Head))
				}
			}
		}
	}
}
