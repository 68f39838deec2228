package reports

import (
	"fmt"

	"locklab/harness/metric"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A picture is a chart with its data: what is drawn, and what it says.
type picture struct {
	title   string                    // the question with its figures, if not as the chart asks it
	answer  string                    // in a sentence or two; never empty
	load    string                    // the workload, if it is not that of the group
	height  vg.Length                 // of the body; 0 if there is nothing to draw
	body    func(c draw.Canvas) error // draws on a canvas of width by height
	numbers table                     // the figures behind it
	data    source                    // where they come from
}

// nothing is the picture of no data: a sentence that says so.
func nothing(format string, args ...any) picture {
	return picture{answer: fmt.Sprintf(format, args...)}
}

// A table is figures for readers who do not trust curves.
type table struct {
	head []piece // a column whose figures are a metric links to it
	rows [][]string
}

// titles returns the heads of columns that are no metric.
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

// Head and Rows are for the template.
func (t table) Head() []piece { return t.head }

func (t table) Rows() [][]string { return t.rows }
