package chart

import (
	"cmp"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"
)

const (
	printed   = 16 // greatest field whose cells show their figures
	heatMost  = vg.Length(440)
	heatCell  = vg.Length(44) // the side of a cell, at most
	heatNames = vg.Length(90) // width of the longest label
	heatLine  = vg.Length(11.25)
	swatch    = vg.Length(18)
	blank     = -1 // class of a cell of the diagonal, or without a figure
)

type heatChart struct {
	sheet
	rows, cols int
	cell       vg.Length // side
	scale      draw.HeatScale
	wide       vg.Length // of the longest name
	top, left  vg.Length
}

func drawHeat(s sheet) (draw.Picture, string) {
	h := &heatChart{sheet: s, rows: len(s.Rows), cols: len(s.drawn)}
	var vs []stat.Summary
	missing, lo, hi := 0, math.Inf(1), 0.0
	for i := range h.rows {
		for k := range h.cols {
			switch v, ok := h.at(i, k); {
			case ok:
				vs, lo, hi = append(vs, v), min(lo, v.Median), max(hi, v.Median)
			case i != k:
				missing++
			}
		}
	}
	if vs == nil {
		return draw.Picture{}, "no cell outside the diagonal holds a figure above 0"
	}
	h.scale = draw.NewHeatScale(lo, hi)
	h.cell = min(heatCell, cellSide(max(h.rows, h.cols)))
	for _, j := range h.drawn {
		h.wide = max(h.wide, min(heatNames, heatName.Width(h.Columns[j].Name)))
	}
	h.top, h.left = vg.Length(34), h.wide+8
	legend := h.top + vg.Length(h.scale.Classes())*swatch + 12
	text := "Rows and columns are in the same order; the diagonal is empty. Colour: the " + cmp.Or(sampled(vs), "figure") + ", in classes on a logarithmic scale."
	if missing > 0 {
		text += " Empty elsewhere: not measured, " + numfmt.Plural(missing, "cell") + "."
	}
	return draw.Picture{Height: max(h.top+vg.Length(h.rows)*h.cell, legend) + 10, Body: h.body, Shape: draw.Shape{Parts: len(vs)}}, text
}

// cellSide rounds down to halves of a point, which keep drawings short.
func cellSide(n int) vg.Length {
	side := heatMost / vg.Length(n)
	if side < 0.5 {
		return side
	}
	return vg.Length(math.Floor(float64(2*side))) / 2
}

// at: ok is false on the diagonal and without a positive figure.
func (h *heatChart) at(i, k int) (v stat.Summary, ok bool) {
	v = h.read(i, h.drawn[k])
	return v, i != k && v.Median > 1/draw.Beyond
}

func (h *heatChart) class(i, k int) int {
	if v, ok := h.at(i, k); ok {
		return h.scale.Class(v.Median)
	}
	return blank
}

var heatName = draw.Typeset(8, draw.Muted, vgdraw.XRight, vgdraw.YCenter)

func (h *heatChart) body(c vgdraw.Canvas) error {
	// Whole coordinates keep the drawing of a large field short.
	x0, y0 := vg.Length(math.Ceil(float64(c.Min.X+h.left))), vg.Length(math.Floor(float64(c.Max.Y-h.top)))
	x1, y1 := x0+vg.Length(h.cols)*h.cell, y0-vg.Length(h.rows)*h.cell
	field := vgdraw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x0, Y: y1}, Max: vg.Point{X: x1, Y: y0}}}
	h.runs(field)
	if max(h.rows, h.cols) <= printed {
		h.figures(field)
	}
	c.StrokeLines(vgdraw.LineStyle{Color: draw.Axis.RGBA(), Width: vg.Points(0.6)}, append(draw.Rect(x0, y1, x1, y0), vg.Point{X: x0, Y: y1}))
	h.names(c, field)
	h.legend(vgdraw.Crop(c, x1-c.Min.X+34, 0, 0, 0))
	return nil
}

func (h *heatChart) names(c, field vgdraw.Canvas) {
	st := draw.Typeset(9, draw.Ink, vgdraw.XLeft, vgdraw.YTop)
	c.FillText(st, vg.Point{X: c.Min.X, Y: c.Max.Y}, draw.Shorten(st, strings.TrimSpace(h.Label+" × "+h.Label), c.Size().X/2))
	over := draw.Typeset(8, draw.Muted, vgdraw.XCenter, vgdraw.YBottom)
	every := 1 // neighbours that share a label
	for vg.Length(every)*h.cell < max(heatLine, h.wide+8) {
		every *= 2
	}
	for i := 0; i < h.rows; i += every {
		y := field.Max.Y - (vg.Length(i)+0.5)*h.cell
		c.FillText(heatName, vg.Point{X: field.Min.X - 5, Y: y}, draw.Shorten(heatName, h.Rows[i].Label, h.wide))
	}
	for k := 0; k < h.cols; k += every {
		x := field.Min.X + (vg.Length(k)+0.5)*h.cell
		c.FillText(over, vg.Point{X: x, Y: field.Max.Y + 5}, draw.Shorten(over, h.Columns[h.drawn[k]].Name, h.wide))
	}
}

func (h *heatChart) figures(c vgdraw.Canvas) {
	write, _ := ticked(h.unit)
	if h.unit == "ns" {
		write = numfmt.Number // the scale names the unit
	}
	wide, st := vg.Length(0), draw.Typeset(10, draw.Ink, 0, 0)
	for i := range h.rows {
		for k := range h.cols {
			if v, ok := h.at(i, k); ok {
				wide = max(wide, st.Width(write(v.Median)))
			}
		}
	}
	size := math.Min(10, 10*float64((h.cell-5)/wide))
	for i := range h.rows {
		for k := range h.cols {
			if v, ok := h.at(i, k); ok && size >= 6 {
				st := draw.Typeset(size, draw.TextOn(h.scale.Colour(h.class(i, k))), vgdraw.XCenter, vgdraw.YCenter)
				c.FillText(st, vg.Point{X: c.Min.X + (vg.Length(k)+0.5)*h.cell, Y: c.Max.Y - (vg.Length(i)+0.5)*h.cell + draw.Lift}, write(v.Median))
			}
		}
	}
}

// runs draws neighbours of one class in a row as one stroke, and all strokes of a class as
// one path: a field of 256 by 256 is 65 536 cells.
func (h *heatChart) runs(c vgdraw.Canvas) {
	paths := make([]vg.Path, h.scale.Classes())
	for i := range h.rows {
		y := c.Max.Y - (vg.Length(i)+0.5)*h.cell
		for k := 0; k < h.cols; {
			from, class := k, h.class(i, k)
			for k < h.cols && h.class(i, k) == class {
				k++
			}
			if class != blank {
				paths[class].Move(vg.Point{X: c.Min.X + vg.Length(from)*h.cell, Y: y})
				paths[class].Line(vg.Point{X: c.Min.X + vg.Length(k)*h.cell, Y: y})
			}
		}
	}
	c.SetLineWidth(h.cell + 0.5) // avoids light seams between the rows
	c.SetLineDash(nil, 0)
	for class, path := range paths {
		if path != nil {
			c.SetColor(draw.Heat[h.scale.Colour(class)].RGBA())
			c.Stroke(path)
		}
	}
}

func (h *heatChart) legend(c vgdraw.Canvas) {
	title := "per cell (log scale)"
	write, unit := ticked(h.unit)
	if unit != "" {
		title = unit + " " + title
	}
	st := draw.Typeset(9, draw.Ink, vgdraw.XLeft, vgdraw.YTop)
	c.FillText(st, vg.Point{X: c.Min.X, Y: c.Max.Y}, draw.Shorten(st, title, c.Size().X))
	bound := draw.Typeset(8, draw.Muted, vgdraw.XLeft, vgdraw.YCenter)
	n := h.scale.Classes()
	y := c.Max.Y - h.top
	x := c.Min.X + swatch + 6
	for class := n - 1; class >= 0; class-- {
		c.FillPolygon(draw.Heat[h.scale.Colour(class)].RGBA(), draw.Rect(c.Min.X, y-swatch, c.Min.X+swatch, y))
		c.FillText(bound, vg.Point{X: x, Y: y}, write(h.scale.Bounds[class+1]))
		y -= swatch
	}
	c.FillText(bound, vg.Point{X: x, Y: y}, write(h.scale.Bounds[0]))
}
