package page

import (
	"slices"
	"testing"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

func TestNotKnown(t *testing.T) {
	head := slices.Concat(chart.Titles("lock", "p99 wait"), chart.ByName(result.Jain, result.Requests), chart.Titles("interval"), chart.ByName(result.CPU))
	for _, c := range []struct {
		row  []string
		want string
	}{
		{[]string{"a", "1 µs", "90 %", "3", "1 to 2"}, ""},
		{[]string{"a", numfmt.Unknown, "90 %", "3", "1 to 2"}, "– stands for no figure. P99 wait: fewer than the 1000 timed samples that it takes."},
		{[]string{"a", "1 µs", numfmt.Unknown, numfmt.Unknown, "1 to 2"}, "– stands for no figure. Jain: one worker, or fewer acquisitions than workers in most of its slices; requests: no round has it."},
		{[]string{"a", "1 µs", "90 %", numfmt.Unknown, "1 to 2", numfmt.Unknown}, "– stands for no figure. Requests: no round has it; cpu: no round has it."},
		{[]string{"a", "1 µs", "90 %", "3", numfmt.Unknown}, ""},
	} {
		if got := notKnown(chart.Table{Head: head, Rows: [][]string{{"b", "1 µs", "90 %", "3", "1 to 2"}, c.row}}); got != c.want {
			t.Errorf("%q: said %q, want %q", c.row, got, c.want)
		}
	}
}
