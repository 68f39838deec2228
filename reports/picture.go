package reports

import (
	"fmt"

	"locklab/harness/metric"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A sketch is a drawing without texts.
type sketch struct {
	height vg.Length                 // of the body; 0 if there is nothing to draw
	body   func(c draw.Canvas) error // draws on a canvas of width by height
}

// A picture is a sketch with its texts and data.
type picture struct {
	sketch

	title   string // the question with its figures, if it differs from the chart's
	answer  string // in a sentence or two; never empty
	load    string // the workload, if it differs from the group's
	numbers table  // the figures in the drawing
	data    source // their source
}

// nothing returns a picture without data: a sentence with the reason.
func nothing(format string, args ...any) picture {
	return picture{answer: fmt.Sprintf(format, args...)}
}

// A table contains the figures of a chart.
type table struct {
	head []piece // a column whose figures are a metric links to it
	rows [][]string
}

// titles returns heads of columns without a metric.
func titles(texts ...string) (out []piece) {
	for _, t := range texts {
		out = append(out, piece{Text: t})
	}
	return out
}

// byName returns the heads of columns of ms, under their names.
func byName(ms ...*metric.Metric) (out []piece) {
	for _, m := range ms {
		out = append(out, piece{m.Name, m})
	}
	return out
}

// byUnit returns the heads of columns of ms, under their units.
func byUnit(ms ...*metric.Metric) (out []piece) {
	for _, m := range ms {
		out = append(out, piece{m.Unit, m})
	}
	return out
}

// width is the width of every chart.
const width = 9 * vg.Inch

// Head returns the head for the template, and Rows the rows.
func (t table) Head() []piece { return t.head }

func (t table) Rows() [][]string { return t.rows }
