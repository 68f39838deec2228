package page_test

import (
	"fmt"
	"testing"

	"locklab/harness/judge"
	"locklab/reports/page"
)

// TestReportAndCompareAgree: report and compare give the same interval and confidence level
// for two runs, at any number of rounds.
func TestReportAndCompareAgree(t *testing.T) {
	for _, n := range [][2]int{{2, 2}, {3, 5}, {4, 4}, {6, 6}, {9, 16}, {25, 26}, {31, 31}, {50, 50}, {50, 51}, {64, 40}, {200, 200}} {
		t.Run(fmt.Sprintf("rounds=%d,%d", n[0], n[1]), func(t *testing.T) {
			runs := page.TwoRuns(n[0], n[1])
			c, err := judge.Compare(runs[0], runs[1], judge.CompareOptions{})
			if err != nil {
				t.Fatal(err)
			}
			drawn := page.MachineRatios(runs)
			if c.Paired || len(drawn) != len(c.Rows) || len(drawn) == 0 {
				t.Fatalf("%d ratios in the report, %d rows of compare, paired: %v", len(drawn), len(c.Rows), c.Paired)
			}
			for _, row := range c.Rows {
				name := fmt.Sprintf("%s workers=%d", row.Lock.Name, row.Workload.Workers)
				if got := drawn[name]; got.Summary != row.Ratio.Summary || got.Level != c.Level {
					t.Errorf("%s: the report says %+v, compare %+v at %v", name, got, row.Ratio, c.Level)
				}
			}
		})
	}
}
