package page

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/table"
)

// WriteFaults writes a table for each scenario, and notes on unexpected outcomes.
func WriteFaults(out io.Writer, rows []result.Survival) error {
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Fault.Scenario == rows[0].Fault.Scenario {
			n++
		}
		if err := writeScenario(out, rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func writeScenario(out io.Writer, rows []result.Survival) error {
	f := rows[0].Fault
	fmt.Fprintf(out, "%s: %s\n%s\n\n", f.Scenario, f.Question, f.Fault)
	t := table.New(out, "LOCK", "VERDICT", "SEEN", "TRIES", "VIOLATIONS/1000", "BOUND", "WINDOW p50", "MOST", "TOLD BEFORE")
	for _, r := range rows {
		if r.Verdict == result.NotTested {
			t.Row(r.Fault.Lock.Name, fmt.Sprintf("%s: %s", r.Verdict, r.Skipped))
			continue
		}
		t.Row(r.Fault.Lock.Name, r.Verdict, harmsSeen(r), r.N,
			faultFigure(r.Violations, "%.0f"), faultFigure(100*r.Bound, "%.3g %%"), faultTime(r.Window, r.Window.Median), faultTime(r.Window, r.Window.Most), faultTime(r.Margin, r.Margin.Least))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		writeAims(out, r)
		if r.Verdict == result.NotTested || r.Verdict != result.Refuted && r.Fault.Failed+r.Fault.Starved == 0 {
			continue
		}
		if len(r.Unexpected) > 0 {
			fmt.Fprintf(out, "%s: not expected: %s (%s)\n", r.Fault.Lock.Name, Harms(r.Unexpected), r.Fault.Expected.Why)
		}
		if r.Fault.Failed > 0 {
			fmt.Fprintf(out, "%s: the fault could not be made in %s\n", r.Fault.Lock.Name, tryCount(r.Fault.Failed)+" more")
		}
		if n := r.Fault.Starved; n > 0 {
			fmt.Fprintf(out, "%s: %s did not count, because the machine kept processes from running\n", r.Fault.Lock.Name, tryCount(n)+" more")
		}
		for _, note := range r.Fault.Notes {
			fmt.Fprintf(out, "  %s\n", note)
		}
		for _, name := range r.Fault.Histories {
			fmt.Fprintf(out, "  history: %s\n", name)
		}
	}
	fmt.Fprintln(out)
	return nil
}

func writeAims(out io.Writer, r result.Survival) {
	for _, a := range r.Aims {
		if a.Known() && !a.Met {
			value, limit := faultFigure(a.Value, "%.3g"), faultFigure(a.Limit, "%.3g")
			if a.Figure == "window" || a.Figure == "margin" {
				value, limit = roundedTime(a.Value), roundedTime(a.Limit)
			}
			fmt.Fprintf(out, "%s: missed: %s of %s, wanted %s (%s)\n", r.Fault.Lock.Name, a.Figure, value, limit, a.Text)
		}
	}
}

func harmsSeen(r result.Survival) string {
	if len(r.Seen) == 0 {
		return "-"
	}
	var words []string
	for _, h := range r.Seen {
		words = append(words, fmt.Sprintf("%s %d", h, r.Fault.Seen[h]))
	}
	return strings.Join(words, ", ")
}

func faultFigure(x float64, format string) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf(format, x)
}

func faultTime(t result.Times, ns float64) string {
	if t.N == 0 {
		return "-"
	}
	return roundedTime(ns)
}

func roundedTime(ns float64) string {
	if math.IsInf(ns, 0) {
		return "never"
	}
	return time.Duration(ns).Round(time.Millisecond).String()
}

func tryCount(n int) string { return fmt.Sprintf("%d %s", n, numfmt.Choose(n, "try", "tries")) }

// Harms names harms, or returns "safe" without any.
func Harms(hs []harness.Harm) string {
	if len(hs) == 0 {
		return "safe"
	}
	var words []string
	for _, h := range hs {
		words = append(words, string(h))
	}
	return strings.Join(words, ", ")
}
