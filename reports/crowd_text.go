package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/resultfile"
)

// CanExtrapolate reports as an error that wraps harness.ErrUsage, in one line, why nothing
// can be said of many contenders from run: it has no distributed lock in a closed loop
// without a delay, or no lock of which a model can be made.
func CanExtrapolate(run *resultfile.Run) error {
	run = tidy(run)
	d := newCrowds(run, groups(run))
	if d == nil {
		return fmt.Errorf("%w: what many contenders do is computed of locks kept by servers in a closed loop without a delay, and the run has none", harness.ErrUsage)
	}
	if d.modelled() == 0 {
		return fmt.Errorf("%w: no lock of the run can be extrapolated: %s %s; measure more numbers of workers, such as --workers 5,10,20,50,500", harness.ErrUsage, d.locks[0].Lock.Name, d.locks[0].why)
	}
	return nil
}

// WriteCrowd writes what the locks of run would do among the contenders that the reader
// asked for, and how the model compares with what was measured. It writes nothing if none
// were asked for.
func WriteCrowd(w io.Writer, run *resultfile.Run, width int) error {
	run = tidy(run)
	d := newCrowds(run, groups(run))
	if d == nil || len(d.asked) == 0 {
		return nil
	}
	t := &textWriter{width: max(width, minText)}
	t.gap()
	t.line(crowdTitle)
	t.line(d.said())
	rows, untold := d.brief()
	t.columns(rows)
	for _, text := range untold {
		t.item(text)
	}
	t.gap()
	t.line(breaksTitle)
	t.line(d.breaksAnswer())
	if _, err := io.WriteString(w, strings.ReplaceAll(t.buf.String(), nb, " ")); err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return nil
}

// brief is the table of d without what was measured for the calibration, and without
// costs, and what is not computed and why, once for each lock and reason.
func (d *crowds) brief() (t table, untold []string) {
	all := d.rows()
	shown := []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15}
	for _, i := range shown {
		t.head = append(t.head, all.head[i])
	}
	for _, row := range all.rows {
		line := "neither rate nor wait of " + row[0] + " is computed: " + row[15]
		if why, ok := strings.CutPrefix(row[15], waitOnly); ok {
			line = "the wait of " + row[0] + " is not computed: " + why
		}
		if row[15] != "" && !slices.Contains(untold, line) {
			untold = append(untold, line)
		}
		if row[4] == unknown {
			continue
		}
		var cells []string
		for _, i := range shown {
			cells = append(cells, row[i])
		}
		cells[len(cells)-1] = "" // it is in a line of its own
		t.rows = append(t.rows, cells)
	}
	return t, untold
}
