package reports

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness/metric"
	"locklab/harness/resultfile"
	"locklab/internal/numfmt"
)

// A source says which figures of which lines a picture draws, so that a reader
// finds the lines of a point: its lock and its workload are on the picture, and the
// metric says what of the line it is.
type source struct {
	metrics     []*metric.Metric
	fields      []string // of a line, that are drawn as they are: "wait"
	experiments []string // whose lines are drawn
	table       int      // of the experiment, from 1; 0 if it is no one table
	rounds      []int    // how many, of each run
	kind        string   // of the lines whose fields are drawn, if there are several
}

// A piece is part of a sentence; Metric is the metric that it names, or nil.
type piece struct {
	Text   string
	Metric *metric.Metric
}

// anchor is the address of m in a page, where its definition is.
func anchor(m *metric.Metric) string { return "metric-" + m.Name }

// Link is the address of what p names, or "": of its metric, or of the term that it is
// as the head of a column.
func (p piece) Link() string {
	if p.Metric != nil {
		return anchor(p.Metric)
	}
	switch m, t := explained(p.Text); {
	case m != nil:
		return anchor(m)
	case t != nil:
		return t.Link()
	}
	return ""
}

// Tip says in short what p names, if that is a metric; a term has its row.
func (p piece) Tip() string {
	m := p.Metric
	if m == nil {
		m, _ = explained(p.Text)
	}
	if m == nil {
		return ""
	}
	return m.Doc + " (" + m.Paper + ")"
}

// sentence says what s is: "Data: metric throughput (acq/s) of results.jsonl, 10
// rounds." It is nil if s is nothing.
func (s source) sentence() (out []piece) {
	var parts [][]piece
	if len(s.metrics) > 0 {
		part := []piece{{Text: numfmt.Noun(len(s.metrics), "metric")}}
		for i, m := range s.metrics {
			part = append(part, piece{joint(i, len(s.metrics)), nil}, piece{m.Name, m}, piece{" (" + m.Unit + ")", nil})
		}
		parts = append(parts, part)
	}
	for _, named := range []struct {
		what  string
		names []string
	}{{"field", s.fields}, {"experiment", s.experiments}} {
		if n := len(named.names); n > 0 {
			text := numfmt.Noun(n, named.what) + " " + numfmt.List(named.names, n)
			if s.kind != "" && named.what == "field" {
				text += " of the lines of kind " + s.kind
			}
			parts = append(parts, []piece{{Text: text}})
		}
	}
	if parts == nil {
		return nil
	}
	out = []piece{{Text: "Data: "}}
	for i, part := range parts {
		if i > 0 {
			out = append(out, piece{Text: joint(i, len(parts))})
		}
		out = append(out, part...)
	}
	return append(out, piece{Text: s.end()})
}

// end says in which file the lines are, and how many rounds there are.
func (s source) end() string {
	text := " of " + resultfile.ResultsName
	if len(s.rounds) > 1 {
		text = " of each machine's " + resultfile.ResultsName
	}
	if s.table > 0 {
		text += fmt.Sprintf(", table %d", s.table)
	}
	if len(s.rounds) == 0 {
		return text + "."
	}
	least, most := slices.Min(s.rounds), slices.Max(s.rounds)
	if least == most {
		return text + ", " + numfmt.Plural(most, "round") + "."
	}
	return text + ", " + numfmt.Number(float64(least)) + " to " + numfmt.Plural(most, "round") + "."
}

// joint stands before item i of n in a list.
func joint(i, n int) string {
	switch {
	case i == 0:
		return " "
	case i == n-1:
		return " and "
	}
	return ", "
}

// plain returns the text of ps.
func plain(ps []piece) string {
	var b strings.Builder
	for _, p := range ps {
		b.WriteString(p.Text)
	}
	return b.String()
}

// texts returns the text of each of ps.
func texts(ps []piece) (out []string) {
	for _, p := range ps {
		out = append(out, p.Text)
	}
	return out
}
