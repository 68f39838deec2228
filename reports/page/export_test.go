package page

import (
	"fmt"

	"locklab/harness/result"
	"locklab/internal/stat"
	"locklab/reports/chart"
)

// CheckGolden and Update are for the tests that run experiments, which this
// package must not import.
var (
	CheckGolden = checkGolden
	Update      = update
)

// TwoRuns returns synthetic runs of the same locks with a and b rounds.
func TwoRuns(a, b int) []*result.Run {
	factors := map[string]float64{"mcs": 2, "ticket": 0.97, "mutex": 1}
	return []*result.Run{pairOf(a, factors)[0].Run, pairOf(b, factors)[1].Run}
}

// MachineRatios returns the ratio of the second run to the first for each case of a report
// of two runs.
func MachineRatios(runs []*result.Run) map[string]stat.Ratio {
	out := make(map[string]stat.Ratio)
	for _, x := range chart.Matches(Machines(runs, []string{"a", "b"})) {
		s := x.Ratios()
		for _, w := range x.Workers() {
			for _, e := range s.Effects(1, w) {
				out[fmt.Sprintf("%s workers=%d", e.S.Lock.Name, w)] = e.Ratio
			}
		}
	}
	return out
}
