package result

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"locklab/harness"
)

type faultColumn struct {
	name string
	of   func(row Survival) string
}

var faultColumns = []faultColumn{
	{"scenario", func(r Survival) string { return r.Fault.Scenario }},
	{"lock", func(r Survival) string { return r.Fault.Lock.Name }},
	{"family", func(r Survival) string { return string(r.Fault.Lock.Family) }},
	{"status", func(r Survival) string { return string(r.Fault.Lock.Status) }},
	{"verdict", func(r Survival) string { return string(r.Verdict) }},
	{"skipped", func(r Survival) string { return r.Fault.Skipped }},
	{"started", func(r Survival) string { return r.Fault.Started.UTC().Format(time.RFC3339Nano) }},
	{"elapsed-ns", func(r Survival) string { return ns(r.Fault.Elapsed) }},
	{"tries", func(r Survival) string { return strconv.Itoa(r.N) }},
	{"failed", func(r Survival) string { return strconv.Itoa(r.Fault.Failed) }},
	{"starved", func(r Survival) string { return strconv.Itoa(r.Fault.Starved) }},
	{"violations-per-1000", func(r Survival) string { return figure(r.Violations, r.N) }},
	{"bound-%", func(r Survival) string { return figure(100*r.Bound, r.N) }},
	{"window-p50-ns", func(r Survival) string { return figure(r.Window.Median, r.Window.N) }},
	{"window-max-ns", func(r Survival) string { return figure(r.Window.Most, r.Window.N) }},
	{"margin-min-ns", func(r Survival) string { return figure(r.Margin.Least, r.Margin.N) }},
	{"overlap-max-ns", func(r Survival) string { return figure(r.Overlap.Most, r.Overlap.N) }},
	{"aims-missed", func(r Survival) string {
		var texts []string
		for _, a := range r.Missed() {
			texts = append(texts, a.Text)
		}
		return strings.Join(texts, "; ")
	}},
	{"expected", func(r Survival) string {
		var texts []string
		for _, h := range r.Fault.Expected.Harms {
			texts = append(texts, string(h))
		}
		return strings.Join(texts, "; ")
	}},
}

func figure(v float64, n int) string {
	if n == 0 || math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// WriteFaultsCSV writes the failure scenarios of run as CSV (RFC 4180), one row per
// scenario and lock, judged by package result. No cell can be interpreted as a formula:
// see [Cell].
func WriteFaultsCSV(out io.Writer, run *Run) error {
	w := csv.NewWriter(out)
	var row []string
	for _, c := range faultColumns {
		row = append(row, c.name)
	}
	for _, h := range harness.Harms {
		row = append(row, strings.ReplaceAll(string(h), " ", "-"))
	}
	w.Write(row) // Error reports it
	for _, f := range run.Faults {
		row = row[:0]
		judged := JudgeFault(f)
		for _, c := range faultColumns {
			row = append(row, OneCell(c.of(judged)))
		}
		for _, h := range harness.Harms {
			row = append(row, strconv.Itoa(f.Seen[h]))
		}
		w.Write(row)
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}
