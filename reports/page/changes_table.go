package page

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"locklab/harness/judge"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// viewRuns returns a table of runs in words: the rows that keep accepts, and the columns
// from the column first on.
func viewRuns(t judge.Table, first int, keep func(*judge.Case) bool) (v tableView) {
	v.Title = tableTitle(t)
	format := chart.FormatUnit(t.Columns[0].Unit)
	heads := []string{"lock", "workers"}
	levels := t.Machine != "" && first == len(t.Columns)-1
	if levels {
		heads = append(heads, "runs", "level", "least", "most")
	}
	for _, c := range t.Columns[first:] {
		heads = append(heads, c.Run)
	}
	v.Head = chart.Titles(append(heads, "verdict")...)
	for _, r := range t.Rows {
		if !keep(r.Case) {
			continue
		}
		cells := []string{r.Lock, strconv.Itoa(r.Case.Workers)}
		switch l := r.Case.Level; {
		case levels && l != nil:
			cells = append(cells, strconv.FormatInt(l.N, 10), numfmt.Plain(format(l.Value)), numfmt.Plain(format(l.Lo)), numfmt.Plain(format(l.Hi)))
		case levels:
			cells = append(cells, "0", notAvailable, notAvailable, notAvailable)
		}
		for i := first; i < len(t.Columns); i++ {
			cells = append(cells, runCell(r, i, format))
		}
		v.Rows = append(v.Rows, append(cells, string(r.Case.Verdict)))
	}
	return v
}

func runCell(r judge.Entry, column int, format func(float64) string) string {
	run := r.Case.Runs[column]
	switch {
	case run.Violated:
		return "violated"
	case r.Ratios[column] != nil:
		return ratioText(r.Ratios[column])
	}
	return figureText(run.Figure, format)
}

func figureText(f *judge.Figure, format func(float64) string) string {
	switch {
	case f == nil:
		return notAvailable
	case f.AtMost:
		return "≤ " + numfmt.Plain(format(f.Value))
	}
	return numfmt.Plain(format(f.Value))
}

func planned(v judge.GateVerdict) bool { return v != judge.OnlyBase && v != judge.OnlyNew }

var csvColumns = []string{
	"machine", "lock", "workload", "workers", "metric", "unit", "better", "run", "figure", "figure_lo", "figure_hi", "figure_n",
	"baseline", "ratio", "ratio_lo", "ratio_hi", "ratio_n", "confidence", "p", "reading", "verdict", "change", "off", "note",
}

// writeTables writes a line for each column of each row of ts; a missing figure is empty.
func writeTables(out io.Writer, ts []judge.Table) error {
	w := csv.NewWriter(out)
	w.Write(csvColumns) // Error reports it
	for _, t := range ts {
		for _, r := range t.Rows {
			for i, c := range t.Columns {
				run, change := r.Case.Runs[i], judge.GateVerdict("")
				if run.Change != nil {
					change = run.Change.Verdict
				}
				line := []string{t.Machine, r.Lock, t.Workload, strconv.Itoa(r.Case.Workers), c.Metric, c.Unit, c.Better, c.Run}
				line = append(line, csvFigure(run.Figure)...)
				line = append(line, t.Baseline)
				line = append(line, csvRatio(r.Ratios[i], c.Level)...)
				line = append(line, string(r.Case.Verdict), string(change), string(run.Off), run.Note)
				for k := range line {
					line[k] = harmless(line[k])
				}
				w.Write(line) // likewise
			}
		}
	}
	w.Flush()
	return w.Error()
}

func csvFigure(f *judge.Figure) []string {
	if f == nil {
		return make([]string, 4)
	}
	return []string{exact(f.Value), exact(f.Lo), exact(f.Hi), strconv.FormatInt(f.N, 10)}
}

func csvRatio(r *judge.Ratio, level float64) []string {
	if r == nil {
		return make([]string, 7)
	}
	return []string{exact(r.Median), exact(r.Lo), exact(r.Hi), strconv.Itoa(r.N), exact(level), exact(*r.P), string(r.Reading)}
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// harmless returns s so that no spreadsheet executes it. Source: OWASP, "CSV Injection".
func harmless(s string) string {
	if t := strings.TrimLeft(s, " \u00a0"); t != "" && strings.ContainsRune("=+-@\t\r\n|%＝＋－＠", []rune(t)[0]) {
		return "'" + s
	}
	return s
}
