package result

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"locklab/harness/oracle"
)

// An Export writes a run in another program's format.
type Export struct {
	Name, Doc string
	Write     func(out io.Writer, run *Run) error
	file      string // of a finished run that has it, or ""
}

// Exports lists every format.
var Exports = []*Export{
	{"csv", "a row for each case and round, for spreadsheets", rowsOf(resultCells, func(run *Run) []*Result { return run.Results }), ""},
	{"rates", "the lines of results.jsonl with the rates alone: the least that most verdicts need", writeRates, ""},
	{"csv-chaos", "a row for each failure scenario and lock", rowsOf(faultCells, func(run *Run) []*FaultResult { return run.Faults }), ""},
	{"published", "the counts of failure scenarios as the project ships them", writePublished, ""},
	{"csv-simulations", "a row for each machine, lock and workload that a model simulated, nothing measured", rowsOf(simulationCells, func(run *Run) []*Simulation { return run.Simulations }), ""},
	{"bench", "Go benchmark lines, for benchstat: bench.txt again", writeBench, BenchName},
	{"hdr-wait", "waits as an HdrHistogram log: wait.hlog again", writeLog("waits", func(r *Result) Histogram { return r.Wait }), WaitLogName},
	{"hdr-handover", "handovers as an HdrHistogram log: handover.hlog again", writeLog("handovers", func(r *Result) Histogram { return r.Handover }), HandoverLogName},
}

// A cell is a column of a CSV file in one row.
type cell struct {
	column string
	value  any // see WriteCSV
}

// resultCells has a cell for each metric, named by its unit. A missing figure is an empty cell,
// like every figure of a result with a violation.
func resultCells(r *Result) []cell {
	w, violation := r.Workload, ""
	if len(r.Violations) > 0 {
		violation = r.Violations[0].Rule + ": " + r.Violations[0].Detail
	}
	cells := []cell{
		{"lock", r.Lock.Name}, {"family", r.Lock.Family}, {"status", r.Lock.Status}, {"round", r.Round},
		{"workers", w.Workers}, {"clients", w.Clients}, {"ranks", max(1, w.Ranks)},
		{"hold-ns", w.Hold.Mean}, {"hold-exp", w.Hold.Exp}, {"hold-mix", w.Hold.Mix},
		{"think-ns", w.Think.Mean}, {"think-exp", w.Think.Exp}, {"think-mix", w.Think.Mix},
		{"wait-policy", w.Wait}, {"pin", w.Pin}, {"gomaxprocs", w.GOMAXPROCS}, {"reads-%", w.Reads}, {"locks", max(1, w.Locks)},
		{"servers", max(1, w.Servers)}, {"durable", w.Durable}, {"tls", w.TLS}, {"delay-ns", w.Delay},
		{"rate/s", strconv.FormatFloat(float64(w.Rate), 'f', -1, 64)}, {"arrivals", w.Arrivals}, {"deadline-ns", w.Deadline},
		{"gc", w.Garbage}, {"section", w.Section}, {"window-ns", w.Window},
		{"started", r.Started}, {"elapsed-ns", r.Elapsed}, {"acquisitions", r.Ops},
		{"violation", violation}, {"warnings", len(r.Warnings)},
	}
	for _, m := range Metrics {
		v, ok := m.Of(r)
		cells = append(cells, cell{m.Unit, figure(v, ok && violation == "")})
	}
	return cells
}

// writeRates writes the results of run without their distributions, so fairness decides nothing.
func writeRates(out io.Writer, run *Run) error {
	for _, r := range run.Results {
		lock := r.Lock
		lock.Doc, lock.Paper = "", ""
		line, err := Encode(Record{Result: &Result{Lock: lock, Workload: r.Workload, Round: r.Round, Elapsed: r.Elapsed, Overlap: r.Overlap,
			Ops: r.Ops, Handovers: r.Handovers, Blocks: r.Blocks, Violations: r.Violations}})
		if err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return wrapped(err)
		}
	}
	return nil
}

func faultCells(f *FaultResult) []cell {
	r := JudgeFault(f)
	cells := []cell{
		{"scenario", f.Scenario}, {"lock", f.Lock.Name}, {"family", f.Lock.Family}, {"status", f.Lock.Status},
		{"verdict", r.Verdict}, {"skipped", f.Skipped}, {"started", f.Started}, {"elapsed-ns", f.Elapsed},
		{"tries", r.N}, {"failed", f.Failed}, {"starved", f.Starved},
		{"violations-per-1000", figure(r.Violations, r.N > 0)}, {"bound-%", figure(100*r.Bound, r.N > 0)},
		{"window-p50-ns", figure(r.Window.Median, r.Window.N > 0)}, {"window-max-ns", figure(r.Window.Most, r.Window.N > 0)},
		{"notice-min-ns", figure(r.Notice.Least, r.Notice.N > 0)}, {"overlap-max-ns", figure(r.Overlap.Most, r.Overlap.N > 0)},
		{"aims-missed", strings.Join(Each(r.Missed(), func(a Aim) string { return a.Text }), "; ")}, {"expected", strings.Join(anomalyNames(f.Expected.Anomalies), "; ")},
	}
	return append(cells, Each(oracle.Anomalies, func(h oracle.Anomaly) cell {
		return cell{strings.ReplaceAll(string(h), " ", "-"), f.Seen[h]}
	})...)
}

// simulationCells names its figures unlike the units of measured metrics.
func simulationCells(s *Simulation) []cell {
	cells := []cell{
		{"simulated", s.Simulated}, {"hypothetical", s.Hypothetical},
		{"sockets", s.Sockets}, {"clusters", s.Clusters}, {"cores", s.Cores}, {"smt", s.SMT},
		{"lock", s.Lock.Name}, {"workers", s.Workers}, {"on-cores", figure(s.OnCores, s.OnCores > 0)}, {"on-sockets", figure(s.OnSockets, s.OnSockets > 0)},
		{"lines", s.Lines}, {"hold-ns", s.Hold}, {"think-ns", s.Think}, {"wait-policy", s.Wait}, {"apart", s.Apart}, {"spread", s.Spread},
		{"seed", s.Seed}, {"seeds", s.Seeds}, {"accuracy", s.Accuracy},
	}
	for _, f := range s.figures() {
		name := "simulated-" + f.column
		cells = append(cells, cell{name, f.Median}, cell{name + "-min", f.Lo}, cell{name + "-max", f.Hi})
	}
	return cells
}

// rowsOf returns a writer of CSV with a row for each element of rows.
func rowsOf[T any](cells func(row *T) []cell, rows func(run *Run) []*T) func(out io.Writer, run *Run) error {
	return func(out io.Writer, run *Run) error { return writeCells(out, cells, rows(run)) }
}

func writeCells[T any](out io.Writer, cells func(row *T) []cell, rows []*T) error {
	return WriteCSV(out, columns(cells(new(T))), Each(rows, func(r *T) []any {
		return Each(cells(r), func(c cell) any { return c.value })
	}))
}

// WriteCSV writes the columns and the rows as CSV (RFC 4180). nil and NaN are empty cells, a
// [time.Duration] is in ns. No cell is a formula: see oneCell.
func WriteCSV(out io.Writer, columns []string, rows [][]any) error {
	w := csv.NewWriter(out)
	w.Write(columns) // Error reports it
	for _, row := range rows {
		w.Write(Each(row, func(v any) string { return oneCell(cellText(v)) }))
	}
	w.Flush()
	return wrapped(w.Error())
}

func columns(cells []cell) []string {
	return Each(cells, func(c cell) string { return c.column })
}

func cellText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case time.Duration:
		return strconv.FormatInt(int64(v), 10)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case float64:
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

func figure(v any, known bool) any {
	if !known {
		return nil
	}
	return v
}

// oneCell returns text as a cell of a CSV file that no spreadsheet interprets as a formula.
// If it begins like one (= + - @ | %, a tab, a line end, or a wide form of these), an
// apostrophe comes first. A number stays a number. Source: OWASP, CSV Injection.
func oneCell(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil && strings.Trim(text, "+-.0123456789eE") == "" {
		return text
	}
	// Spreadsheets skip blanks before they interpret a cell.
	if start := strings.TrimLeft(text, " \u00a0"); start != "" && strings.ContainsAny(string([]rune(start)[0]), "=+-@\t\r\n|%＝＋－＠") {
		return "'" + text
	}
	return text
}
