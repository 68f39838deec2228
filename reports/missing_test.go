package reports

import (
	"slices"
	"testing"

	"locklab/harness/result"
)

// TestNotKnown: a table with dashes explains them by column.
func TestNotKnown(t *testing.T) {
	head := slices.Concat(titles("lock", "p99 wait"), byName(result.Jain, result.Requests), titles("interval"), byName(result.CPU))
	for _, c := range []struct {
		row  []string
		want string
	}{
		{[]string{"a", "1 µs", "90 %", "3", "1 to 2"}, ""},
		{[]string{"a", unknown, "90 %", "3", "1 to 2"}, "– stands for no figure. P99 wait: fewer than the 1000 timed samples that it takes."},
		{[]string{"a", "1 µs", unknown, unknown, "1 to 2"}, "– stands for no figure. Jain: one worker, or fewer acquisitions than workers in most of its slices; requests: no round has it."},
		{[]string{"a", "1 µs", "90 %", unknown, "1 to 2", unknown}, "– stands for no figure. Requests, cpu: no round has it."},
		{[]string{"a", "1 µs", "90 %", "3", unknown}, "– stands for no figure. Nothing to tell, or nothing to compare with."},
	} {
		if got := notKnown(table{head, [][]string{{"b", "1 µs", "90 %", "3", "1 to 2"}, c.row}}); got != c.want {
			t.Errorf("%q: said %q, want %q", c.row, got, c.want)
		}
	}
}
