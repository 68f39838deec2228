package reports

import (
	"locklab/harness"
)

// A painter draws the tables of one kind. The sentence next to the picture explains how to
// read it. If there is nothing to draw, the picture gives the reason.
type painter struct {
	kind harness.ChartKind
	draw func(s sheet) (pic picture, how string)
}

// painters lists every kind of chart for tables.
var painters = []painter{
	{harness.Bars, drawBars},
	{harness.Lines, drawCurves},
	{harness.Heat, drawHeat},
}

// drawTable draws t, which may come from a newer version and have any shape.
func drawTable(t harness.Table) (pic picture, how string) {
	for _, p := range painters {
		if p.kind == t.Chart {
			return p.draw(newSheet(t))
		}
	}
	return nothing("This version cannot draw a chart of the kind %q; the figures are below.", t.Chart), ""
}
