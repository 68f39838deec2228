package reports

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness/result"

	"locklab/internal/numfmt"
)

// A source names the figures and lines that a picture draws, so that a reader can find the
// lines of a point. The picture shows lock and workload; the metric names the part of the
// line.
type source struct {
	metrics     []*result.Metric
	fields      []string // drawn unchanged from a line: "wait"
	experiments []string // whose lines are drawn
	table       int      // of the experiment, from 1; 0 if there is no single table
	rounds      []int    // number of rounds of each run
	kind        string   // kind of the lines with the fields, if there are several
}

// A piece is part of a sentence; Metric is the metric that it names, or nil.
type piece struct {
	Text   string
	Metric *result.Metric
}

// anchor returns the address of the definition of m in a page.
func anchor(m *result.Metric) string { return "metric-" + m.Name }

// Link returns the address of the metric or term that p names, or "".
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

// Tip describes in short the metric that p names. Terms have no tip: they have a row.
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

// sentence describes s: "Data: metric throughput (acq/s) of results.jsonl, 10 rounds." It
// is nil if s is empty.
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

// end names the file of the lines and the number of rounds.
func (s source) end() string {
	text := " of " + result.ResultsName
	if len(s.rounds) > 1 {
		text = " of each machine's " + result.ResultsName
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

// joint returns the text before item i of n in a list.
func joint(i, n int) string {
	switch {
	case i == 0:
		return " "
	case i == n-1:
		return " and "
	}
	return ", "
}

func plain(ps []piece) string {
	var b strings.Builder
	for _, p := range ps {
		b.WriteString(p.Text)
	}
	return b.String()
}

func texts(ps []piece) (out []string) {
	for _, p := range ps {
		out = append(out, p.Text)
	}
	return out
}
