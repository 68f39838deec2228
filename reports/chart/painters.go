package chart

import (
	"locklab/harness"
)

// A Painter draws the tables of one kind. The sentence next to the picture explains how to
// read it. If there is nothing to draw, the picture gives the reason.
type Painter struct {
	Kind harness.ChartKind
	draw func(s sheet) (pic Picture, how string)
}

// Painters lists every kind of chart for tables.
var Painters = []Painter{
	{harness.Bars, drawBars},
	{harness.Lines, drawCurves},
	{harness.Heat, drawHeat},
}

// DrawTable draws t, which may come from a newer version and have any shape.
func DrawTable(t harness.Table) (pic Picture, how string) {
	for _, p := range Painters {
		if p.Kind == t.Chart {
			return p.draw(newSheet(t))
		}
	}
	return nothing("This version cannot draw a chart of the kind %q; the figures are below.", t.Chart), ""
}
