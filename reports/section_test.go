package reports

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/synthetic"
)

// TestOtherData: a run with several sections has a chart of them, and the cost of each.
func TestOtherData(t *testing.T) {
	base := synthetic.Run(1, 12, 2, []int{1, 8}, synthetic.Fast("quick", 5e6), synthetic.Fast("steady", 1e6))
	run := vary(base, func(w *harness.Workload) { w.Section = harness.SectionMap }, func(lock string) float64 {
		if lock == "quick" {
			return 0.05
		}
		return 1
	})
	run.Results = append(run.Results, vary(base, func(w *harness.Workload) { w.Section = harness.CacheLines(4) }, func(string) float64 { return 1 }).Results[len(base.Results):]...)
	run.Manifest.Sections = map[harness.Section]float64{harness.SectionMap: 21.5}
	const question = "What does the data behind the lock change?"
	for name, c := range map[string]struct {
		run  *result.Run
		want bool
	}{"three sections": {run, true}, "one section": {base, false}} {
		var page bytes.Buffer
		if err := WriteHTML(&page, c.run); err != nil {
			t.Fatal(err)
		}
		cost := fmt.Sprintf("21.5%sns for a change of its data", nb)
		if got := page.String(); strings.Contains(got, question) != c.want || strings.Contains(got, cost) != c.want {
			t.Errorf("%s: the page has the chart: %v, the cost: %v", name, strings.Contains(got, question), strings.Contains(got, cost))
		}
	}
}
