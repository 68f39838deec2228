package result

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"locklab/harness"
)

type csvColumn struct {
	name string
	of   func(r *harness.Result) string
}

var csvColumns = []csvColumn{
	{"lock", func(r *harness.Result) string { return r.Lock.Name }},
	{"family", func(r *harness.Result) string { return string(r.Lock.Family) }},
	{"status", func(r *harness.Result) string { return string(r.Lock.Status) }},
	{"round", func(r *harness.Result) string { return strconv.Itoa(r.Round) }},
	{"workers", func(r *harness.Result) string { return strconv.Itoa(r.Workload.Workers) }},
	{"clients", func(r *harness.Result) string { return strconv.Itoa(r.Workload.Clients) }},
	{"ranks", func(r *harness.Result) string { return strconv.Itoa(max(1, r.Workload.Ranks)) }},
	{"hold-ns", func(r *harness.Result) string { return ns(r.Workload.Hold.Mean) }},
	{"hold-exp", func(r *harness.Result) string { return strconv.FormatBool(r.Workload.Hold.Exp) }},
	{"hold-mix", func(r *harness.Result) string { return string(r.Workload.Hold.Mix) }},
	{"think-ns", func(r *harness.Result) string { return ns(r.Workload.Think.Mean) }},
	{"think-exp", func(r *harness.Result) string { return strconv.FormatBool(r.Workload.Think.Exp) }},
	{"think-mix", func(r *harness.Result) string { return string(r.Workload.Think.Mix) }},
	{"wait-policy", func(r *harness.Result) string { return r.Workload.Wait.String() }},
	{"pin", func(r *harness.Result) string { return r.Workload.Pin.String() }},
	{"gomaxprocs", func(r *harness.Result) string { return strconv.Itoa(r.Workload.GOMAXPROCS) }},
	{"reads-%", func(r *harness.Result) string { return strconv.Itoa(r.Workload.Reads) }},
	{"locks", func(r *harness.Result) string { return strconv.Itoa(max(1, r.Workload.Locks)) }},
	{"servers", func(r *harness.Result) string { return strconv.Itoa(max(1, r.Workload.Servers)) }},
	{"durable", func(r *harness.Result) string { return strconv.FormatBool(r.Workload.Durable) }},
	{"tls", func(r *harness.Result) string { return strconv.FormatBool(r.Workload.TLS) }},
	{"delay-ns", func(r *harness.Result) string { return ns(r.Workload.Delay) }},
	{"rate/s", func(r *harness.Result) string { return strconv.FormatFloat(float64(r.Workload.Rate), 'f', -1, 64) }},
	{"arrivals", func(r *harness.Result) string { return r.Workload.Arrivals.String() }},
	{"deadline-ns", func(r *harness.Result) string { return ns(r.Workload.Deadline) }},
	{"gc", func(r *harness.Result) string { return strconv.FormatBool(r.Workload.Garbage) }},
	{"section", func(r *harness.Result) string { return r.Workload.Section.String() }},
	{"window-ns", func(r *harness.Result) string { return ns(r.Workload.Window) }},
	{"started", func(r *harness.Result) string { return r.Started.UTC().Format(time.RFC3339Nano) }},
	{"elapsed-ns", func(r *harness.Result) string { return ns(r.Elapsed) }},
	{"acquisitions", func(r *harness.Result) string { return strconv.FormatUint(r.Ops, 10) }},
	{"violation", func(r *harness.Result) string {
		if len(r.Violations) == 0 {
			return ""
		}
		return r.Violations[0].Rule + ": " + r.Violations[0].Detail
	}},
	{"warnings", func(r *harness.Result) string { return strconv.Itoa(len(r.Warnings)) }},
}

func ns(d time.Duration) string { return strconv.FormatInt(int64(d), 10) }

// WriteCSV writes the results of run as CSV (RFC 4180), one row per case and round: its
// properties, then a column for each metric, named by its unit. A missing figure is an
// empty cell, like every figure of a result that violates a rule. No cell can be
// interpreted as a formula: see [Cell].
func WriteCSV(out io.Writer, run *Run) error {
	w := csv.NewWriter(out)
	var row []string
	for _, c := range csvColumns {
		row = append(row, c.name)
	}
	for _, m := range Metrics {
		row = append(row, m.Unit)
	}
	w.Write(row) // Error reports it
	for _, r := range run.Results {
		row = row[:0]
		for _, c := range csvColumns {
			row = append(row, OneCell(c.of(r)))
		}
		for _, m := range Metrics {
			text := ""
			if v, ok := m.Of(r); ok && len(r.Violations) == 0 {
				text = strconv.FormatFloat(v, 'g', -1, 64)
			}
			row = append(row, OneCell(text))
		}
		w.Write(row)
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}

// OneCell returns text as a cell of a CSV file that no spreadsheet interprets as a formula.
// If it begins like one (= + - @, a tab, a line end, or a wide form of these), an
// apostrophe comes first. A number stays a number. Source: OWASP, CSV Injection.
func OneCell(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil && strings.Trim(text, "+-.0123456789eE") == "" {
		return text
	}
	// Spreadsheets skip blanks before they interpret a cell.
	if start := strings.TrimLeft(text, " \u00a0"); start != "" && strings.ContainsAny(string([]rune(start)[0]), "=+-@\t\r\n＝＋－＠") {
		return "'" + text
	}
	return text
}
