package chart

import (
	"fmt"

	"gonum.org/v1/plot"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

func quantileName(q float64) string { return fmt.Sprintf("p%g", 100*q) }

func floorNote(floor float64) string {
	return fmt.Sprintf("≤ %s: the clock cannot tell such waits apart", numfmt.Nanos(floor))
}

// floorZone draws the grid, and shades the times below the clock's resolution.
func floorZone(c vgdraw.Canvas, p *plot.Plot, floor float64) {
	if floor <= p.Y.Min {
		draw.Gridlines(true)(c, p)
		return
	}
	_, trY := p.Transforms(&c)
	y := min(trY(floor), c.Max.Y)
	c.FillPolygon(draw.Shade.RGBA(), draw.Rect(c.Min.X, c.Min.Y, c.Max.X, y))
	draw.Gridlines(true)(c, p)
}

// floorText explains the shaded zone above the frame, where it hides no curve.
func floorText(c vgdraw.Canvas, p *plot.Plot, floor float64) {
	if floor > p.Y.Min {
		c.Max.Y += 15
		draw.DrawNotes(c, []draw.Note{{Colour: draw.Shade, Text: floorNote(floor)}})
	}
}
