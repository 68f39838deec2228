package page

import (
	"slices"
	"strings"
	"testing"

	"locklab/reports/chart"
)

// TestWithoutRoundTrips: round trips are shown for distributed locks, if measured.
func TestWithoutRoundTrips(t *testing.T) {
	for _, old := range []bool{false, true} {
		run := gallery(6)
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
