package reports

import (
	"locklab/harness"
)

// A painter draws the tables of one kind. The sentence beside the picture says
// how to read it; where there is nothing to draw, the picture says why.
type painter struct {
	kind harness.ChartKind
	draw func(s sheet) (pic picture, how string)
}

// painters lists every kind of chart that a table can ask for.
var painters = []painter{
	{harness.Bars, drawBars},
	{harness.Lines, drawCurves},
	{harness.Heat, drawHeat},
}

// drawTable draws t, which may come from a newer version and be of any shape.
func drawTable(t harness.Table) (pic picture, how string) {
	for _, p := range painters {
		if p.kind == t.Chart {
			return p.draw(newSheet(t))
		}
	}
	return nothing("This version cannot draw a chart of the kind %q; the figures are below.", t.Chart), ""
}
