package chart

import (
	"fmt"
	"slices"

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

// A Piece is a part of a text, such as the head of a column; Metric is the metric that it names, or nil.
type Piece struct {
	Text   string
	Metric *result.Metric
}

// Sentence describes s: "Data: metric throughput (acq/s) of results.jsonl, 10 rounds." It
// is "" if s is empty.
func (s Source) Sentence() string {
	var parts, metrics []string
	add := func(what string, names []string) {
		if n := len(names); n > 0 {
			parts = append(parts, numfmt.Noun(n, what)+" "+numfmt.List(names, n))
		}
	}
	for _, m := range s.Metrics {
		metrics = append(metrics, m.Name+" ("+m.Unit+")")
	}
	add("metric", metrics)
	add("field", s.Fields)
	add("experiment", s.Experiments)
	if parts == nil {
		return ""
	}
	return "Data: " + numfmt.List(parts, len(parts)) + s.end()
}

func (s Source) end() string {
	text := " of " + result.ResultsName
	switch {
	case s.kind != "":
		text = " of the lines of kind " + s.kind + text
	case len(s.Rounds) > 1:
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

// Texts returns the texts of ps.
func Texts(ps []Piece) (out []string) {
	for _, p := range ps {
		out = append(out, p.Text)
	}
	return out
}
