package page

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
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

// WriteDistance writes the requested predictions of run and their tests under a delay, if any.
func WriteDistance(w io.Writer, run *result.Run, width int) error {
	run = chart.Sanitize(run)
	d := chart.NewDistance(run, chart.Groups(run))
	if d == nil || len(d.Asked)+len(d.Far) == 0 {
		return nil
	}
	t := newText(width)
	t.execute("distance", d)
	return t.writeTo(w)
}

// columns writes a table without ranges, and each lock without a prediction once per reason.
func (t *textWriter) columns(rows chart.Table) {
	last := len(rows.Head) - 1
	var shown []int
	for i, h := range rows.Head[:last] {
		if !strings.HasPrefix(h.Text, "range") && h.Text != "interval" {
			shown = append(shown, i)
		}
	}
	pick := func(cells []string) (out []string) {
		for _, i := range shown {
			out = append(out, cells[i])
		}
		return out
	}
	v := tableView{Head: chart.Titles(pick(chart.Texts(rows.Head))...)}
	var untold []string
	parts := make(map[string][]string) // the second cells of the rows, by lock and reason
	for _, row := range rows.Rows {
		reason := row[last]
		if reason == "" {
			v.Rows = append(v.Rows, pick(row))
			continue
		}
		key := row[0] + "\x00" + reason
		if parts[key] == nil {
			untold = append(untold, key)
		}
		if !slices.Contains(parts[key], row[1]) {
			parts[key] = append(parts[key], row[1])
		}
	}
	t.grid(v)
	for _, key := range untold {
		lock, reason, _ := strings.Cut(key, "\x00")
		t.item(fmt.Sprintf("%s is not predicted (%s): %s", lock, numfmt.List(parts[key], len(parts[key])), reason))
	}
}

// WriteContenders writes the requested predictions and the points that check them, if any.
func WriteContenders(w io.Writer, run *result.Run, width int) error {
	run = chart.Sanitize(run)
	d := chart.NewContention(run, chart.Groups(run))
	if d == nil || !d.HasLaw() || len(d.Asked) == 0 {
		return nil
	}
	t := newText(width)
	t.gap()
	t.line(chart.ContendersTitle)
	t.line(d.Answer() + " " + d.Laws())
	rows := d.Rows()
	rows.Rows = slices.DeleteFunc(rows.Rows, func(row []string) bool { return row[2] == "measured" }) // in the fit
	t.columns(rows)
	return t.writeTo(w)
}
