package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
)

// CanPredict returns an error that wraps harness.ErrUsage if nothing can be predicted from
// run. Its line gives the reason: no distributed lock, or missing input for a prediction.
func CanPredict(run *result.Run) error {
	var remote, near, counted bool
	for _, r := range run.Results {
		if r.Lock.Traits.Needs == "" {
			continue
		}
		remote = true
		if r.Workload.Delay == 0 && judge.FitsModel(r.Workload) {
			near = true
			counted = counted || r.Trips != nil
		}
	}
	switch {
	case !remote:
		return fmt.Errorf("%w: a prediction is of locks kept by servers, and the run has none", harness.ErrUsage)
	case !near:
		return fmt.Errorf("%w: a prediction rests on a closed loop without a delay, and the run has none of a lock kept by servers", harness.ErrUsage)
	case !counted:
		return fmt.Errorf("%w: the run does not say how many round trips its locks take: it is of an earlier version, or its servers spoke TLS; measure it again", harness.ErrUsage)
	}
	return nil
}

// WriteDistance writes the predicted cost of the locks of run at the requested round trips,
// and compares predictions with measurements under a delay. It writes nothing if there is
// neither.
func WriteDistance(w io.Writer, run *result.Run, width int) error {
	run = tidy(run)
	d := newDistance(run, groups(run))
	if d == nil || len(d.asked)+len(d.far) == 0 {
		return nil
	}
	t := &textWriter{width: max(width, minText)}
	if len(d.asked) > 0 {
		t.gap()
		t.line("What would it take at another round trip?")
		t.line(d.predictionsAnswer())
		t.columns(d.predictions())
	}
	if len(d.far) > 0 {
		t.gap()
		t.line("How good are predictions from the run without a delay?")
		t.line(d.checksAnswer())
		t.columns(d.checks())
	}
	return t.writeTo(w)
}

// columns writes a table without its ranges and intervals. Below it, it lists each lock
// without a prediction once per reason.
func (t *textWriter) columns(rows table) {
	last := len(rows.head) - 1
	var shown []int
	for i, h := range rows.head[:last] {
		if !strings.HasPrefix(h.Text, "range") && h.Text != "interval" {
			shown = append(shown, i)
		}
	}
	var untold []string
	out := tabwriter.NewWriter(&t.buf, 0, 0, 2, ' ', 0)
	for i, row := range append([][]string{texts(rows.head)}, rows.rows...) {
		if i > 0 && row[last] != "" {
			if line := row[0] + ", " + row[1] + ", is not predicted: " + row[last]; !slices.Contains(untold, line) {
				untold = append(untold, line)
			}
			continue
		}
		var cells []string
		for _, i := range shown {
			cells = append(cells, row[i])
		}
		fmt.Fprintln(out, "  "+strings.Join(cells, "\t"))
	}
	out.Flush() // into memory
	for _, line := range untold {
		t.item(line)
	}
}
