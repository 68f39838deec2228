package chart

import (
	"fmt"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// A Picture is a sketch with its texts and data.
type Picture struct {
	draw.Picture

	Title   string // the question with its figures, if it differs from the chart's
	Answer  string // in a sentence or two; never empty
	Empty   string // why a drawing would show nothing; "" if there is one
	Load    string // the workload, if it differs from the group's
	Numbers Table  // the figures in the drawing
	Data    Source // their source
}

// A Named is a picture in a file of its own.
type Named struct {
	Name, Title, Doc string
	Pic              Picture
	Folded           bool            // the page shows it when asked
	Finding          *result.Finding // with the table that is drawn; nil for others
	Model            *Modelled       // that predicts the figures; nil for others
}

func nothing(format string, args ...any) Picture {
	return Picture{Answer: fmt.Sprintf(format, args...)}
}

// A guard returns why a drawing of that shape would show nothing, or "".
type guard func(s draw.Shape) string

func (p Picture) guarded(leave guard) Picture {
	if p.Empty = leave(p.Shape); p.Empty != "" {
		p.Picture = draw.Picture{}
	}
	return p
}

func few(least int, noun string) guard {
	return func(s draw.Shape) string {
		if s.Parts < least {
			return "only " + numfmt.Plural(s.Parts, noun)
		}
		return ""
	}
}

// flat is a guard against panels of single points, and against panels that are all alike.
func flat(s draw.Shape) string {
	switch {
	case s.Parts == 0:
		return "no figures"
	case 2*s.Curves < s.Parts:
		return fmt.Sprintf("one point in %d of %s", s.Parts-s.Curves, numfmt.Plural(s.Parts, "panel"))
	case s.Equal:
		return fmt.Sprintf("%d equal panels", s.Parts)
	}
	return ""
}

// A Table contains the figures of a chart.
type Table struct {
	Head []Heading // a column whose figures are a metric links to it
	Rows [][]string
}

// Titles returns heads of columns without a metric.
func Titles(texts ...string) []Heading {
	return result.Each(texts, func(t string) Heading { return Heading{Text: t} })
}

// ByName returns the heads of columns of ms, under their names.
func ByName(ms ...*result.Metric) []Heading {
	return result.Each(ms, func(m *result.Metric) Heading { return Heading{m.Name, m} })
}

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

// A Heading is the head of a column; Metric is the metric that it names, or nil.
type Heading struct {
	Text   string
	Metric *result.Metric
}

// Sentence describes s: "Data: metric throughput (acq/s) of results.jsonl, 10 rounds." It
// is "" if s is empty.
func (s Source) Sentence() string {
	var parts []string
	add := func(what string, names []string) {
		if n := len(names); n > 0 {
			parts = append(parts, numfmt.Noun(n, what)+" "+numfmt.List(names, n))
		}
	}
	add("metric", result.Each(s.Metrics, func(m *result.Metric) string { return m.Name + " (" + m.Unit + ")" }))
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
	return text + ", " + numfmt.Range(s.Rounds, "round") + "."
}

// Texts returns the texts of ps.
func Texts(ps []Heading) []string {
	return result.Each(ps, func(p Heading) string { return p.Text })
}
