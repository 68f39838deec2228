package chart

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// A Source names the figures and lines of a picture, for a reader who looks for a point's
// lines.
type Source struct {
	Metrics     []*result.Metric
	Fields      []string // drawn unchanged from a line: "wait"
	Experiments []string // whose lines are drawn
	Table       int      // of the experiment, from 1; 0 if there is no single table
	Rounds      []int    // number of rounds of each run
	kind        string   // kind of the lines with the fields, if there are several
}

// A Piece is part of a sentence; Metric is the metric that it names, or nil.
type Piece struct {
	Text   string
	Metric *result.Metric
}

// Sentence describes s: "Data: metric throughput (acq/s) of results.jsonl, 10 rounds." It
// is nil if s is empty.
func (s Source) Sentence() (out []Piece) {
	var parts [][]Piece
	if len(s.Metrics) > 0 {
		part := []Piece{{Text: numfmt.Noun(len(s.Metrics), "metric")}}
		for i, m := range s.Metrics {
			part = append(part, Piece{joint(i, len(s.Metrics)), nil}, Piece{m.Name, m}, Piece{" (" + m.Unit + ")", nil})
		}
		parts = append(parts, part)
	}
	for _, named := range []struct {
		what  string
		names []string
	}{{"field", s.Fields}, {"experiment", s.Experiments}} {
		if n := len(named.names); n > 0 {
			text := numfmt.Noun(n, named.what) + " " + numfmt.List(named.names, n)
			if s.kind != "" && named.what == "field" {
				text += " of the lines of kind " + s.kind
			}
			parts = append(parts, []Piece{{Text: text}})
		}
	}
	if parts == nil {
		return nil
	}
	out = []Piece{{Text: "Data: "}}
	for i, part := range parts {
		if i > 0 {
			out = append(out, Piece{Text: joint(i, len(parts))})
		}
		out = append(out, part...)
	}
	return append(out, Piece{Text: s.end()})
}

func (s Source) end() string {
	text := " of " + result.ResultsName
	if len(s.Rounds) > 1 {
		text = " of each machine's " + result.ResultsName
	}
	if s.Table > 0 {
		text += fmt.Sprintf(", table %d", s.Table)
	}
	if len(s.Rounds) == 0 {
		return text + "."
	}
	least, most := slices.Min(s.Rounds), slices.Max(s.Rounds)
	if least == most {
		return text + ", " + numfmt.Plural(most, "round") + "."
	}
	return text + ", " + numfmt.Number(float64(least)) + " to " + numfmt.Plural(most, "round") + "."
}

func joint(i, n int) string {
	switch {
	case i == 0:
		return " "
	case i == n-1:
		return " and "
	}
	return ", "
}

func Plain(ps []Piece) string {
	var b strings.Builder
	for _, p := range ps {
		b.WriteString(p.Text)
	}
	return b.String()
}

func Texts(ps []Piece) (out []string) {
	for _, p := range ps {
		out = append(out, p.Text)
	}
	return out
}
