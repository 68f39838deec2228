package reports

import (
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/verdict"
	"locklab/internal/synthetic"
)

// TestNotKnown: a table that has a dash says what it is for, by its columns.
func TestNotKnown(t *testing.T) {
	head := slices.Concat(titles("lock", "p99 wait"), byName(metric.Jain, metric.Requests), titles("interval"), byName(metric.CPU))
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

// TestNoP99: a row whose waits are too few for p99 says how many there are.
func TestNoP99(t *testing.T) {
	for _, c := range []struct {
		waits []harness.Bucket
		want  string
	}{{nil, "p99 wait not told (no wait was timed)"}, {[]harness.Bucket{{Value: 5000, N: 3}}, "p99 wait not told (18 waits timed, it takes 1000)"}} {
		run := synthetic.Run(1, 6, 2, []int{2}, synthetic.Fast("a", 1e6), synthetic.Fast("b", 5e5))
		for _, r := range run.Results {
			r.Wait = c.waits
			r.CPU = harness.CPU{}
		}
		v := verdict.All(run)[0]
		_, reason, _ := strings.Cut(strings.TrimSuffix(c.want, ")"), "(")
		if i := slices.IndexFunc(costs(v), func(q quantified) bool { return q.Metric == metric.P99 && q.Value == "not told: "+reason }); i < 0 {
			t.Errorf("the sheet has %+v, want %q", costs(v), reason)
		}
	}
}
