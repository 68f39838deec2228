package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

const (
	mostHeat   = 1024 // rows and columns of a field
	printed    = 16   // greatest field whose cells show their figures
	heatMost   = vg.Length(440)
	heatCell   = vg.Length(44) // the side of a cell, at most
	heatNames  = vg.Length(90) // width of the longest label
	heatLine   = vg.Length(11.25)
	swatch     = vg.Length(18)
	unmeasured = -1 // class of a cell without a figure
	blank      = -2 // class of a cell of the diagonal
)

type heatChart struct {
	sheet
	rows, cols int
	cell       vg.Length // side
	class      [][]int
	scale      draw.HeatScale
	missing    int // cells that were not measured
	top, left  vg.Length
}

func drawHeat(s sheet) (Picture, string) {
	h := &heatChart{sheet: s, rows: len(s.Rows), cols: len(s.drawn)}
	if n := max(h.rows, h.cols); n > mostHeat {
		return nothing("A field of %d by %d cells is too large to draw; results.jsonl has its figures.", h.rows, h.cols), ""
	}
	var rs []reading
	h.each(func(_, _ int, r reading, ok bool) {
		if ok {
			rs = append(rs, reading{r.mid, r.mid, r.mid, r.n})
		}
	})
	lo, hi, ok := span(rs, true)
	if !ok {
		return nothing("There is nothing to draw: no cell outside the diagonal holds a figure above 0."), ""
	}
	h.scale = draw.NewHeatScale(lo, hi)
	h.classify()
	h.cell = min(heatCell, cellSide(max(h.rows, h.cols)))
	h.top, h.left = vg.Length(34), h.nameWidth()+8
	return Picture{Picture: draw.Picture{Height: max(h.top+vg.Length(h.rows)*h.cell, h.legendHeight()) + 10, Body: h.body}}, h.how(rs)
}

// cellSide returns the side of a cell in a row of n: halves of a point keep drawings short.
func cellSide(n int) vg.Length {
	side := heatMost / vg.Length(n)
	if side < 0.5 {
		return side
	}
	return vg.Length(math.Floor(float64(2*side))) / 2
}

// each calls f for every cell off the diagonal; ok reports whether it has a positive figure.
func (h *heatChart) each(f func(i, k int, r reading, ok bool)) {
	for i := range h.rows {
		for k, j := range h.drawn {
			if r, ok := h.read(i, j); i != k {
				f(i, k, r, ok && r.mid > 1/draw.Beyond)
			}
		}
	}
}

func (h *heatChart) classify() {
	for range h.rows {
		h.class = append(h.class, slices.Repeat([]int{blank}, h.cols))
	}
	h.each(func(i, k int, r reading, ok bool) {
		h.class[i][k] = unmeasured
		if ok {
			h.class[i][k] = h.scale.Class(r.mid)
		} else {
			h.missing++
		}
	})
}

func (h *heatChart) how(rs []reading) string {
	text := "Rows and columns are in the same order; the diagonal is empty. Colour: the " + cmp.Or(sampled(rs), "figure") +
		", in classes on a logarithmic scale."
	if h.missing > 0 {
		text += " Hatched: not measured."
	}
	return text
}

var heatName = draw.Typeset(8, draw.Muted, vgdraw.XRight, vgdraw.YCenter)

func (h *heatChart) nameWidth() (w vg.Length) {
	for _, r := range h.Rows {
		w = max(w, min(heatNames, heatName.Width(r.Label)))
	}
	return w
}

func (h *heatChart) columnName(k int) string {
	if k < h.rows {
		return h.Rows[k].Label
	}
	return h.Columns[h.drawn[k]].Name
}

func (h *heatChart) body(c vgdraw.Canvas) error {
	// Whole coordinates keep the drawing of a large field short.
	x0, y0 := vg.Length(math.Ceil(float64(c.Min.X+h.left))), vg.Length(math.Floor(float64(c.Max.Y-h.top)))
	x1, y1 := x0+vg.Length(h.cols)*h.cell, y0-vg.Length(h.rows)*h.cell
	field := vgdraw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x0, Y: y1}, Max: vg.Point{X: x1, Y: y0}}}
	if h.missing > 0 {
		hatch(field)
	}
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
	wide := vg.Length(0)
	for k := range h.cols {
		wide = max(wide, min(heatNames, over.Width(h.columnName(k))))
	}
	every := 1 // neighbours that share a label
	for vg.Length(every)*h.cell < max(heatLine, wide+8) {
		every *= 2
	}
	for i := 0; i < h.rows; i += every {
		y := field.Max.Y - (vg.Length(i)+0.5)*h.cell
		c.FillText(heatName, vg.Point{X: field.Min.X - 5, Y: y}, draw.Shorten(heatName, h.Rows[i].Label, heatNames))
	}
	for k := 0; k < h.cols; k += every {
		x := field.Min.X + (vg.Length(k)+0.5)*h.cell
		c.FillText(over, vg.Point{X: x, Y: field.Max.Y + 5}, draw.Shorten(over, h.columnName(k), heatNames))
	}
}

func (h *heatChart) figures(c vgdraw.Canvas) {
	write, _ := ticked(h.unit)
	if h.unit == "ns" {
		write = numfmt.Number // the scale names the unit
	}
	wide, st := vg.Length(0), draw.Typeset(10, draw.Ink, 0, 0)
	h.each(func(_, _ int, r reading, _ bool) { wide = max(wide, st.Width(write(r.mid))) })
	size := math.Min(10, 10*float64((h.cell-5)/wide))
	h.each(func(i, k int, r reading, ok bool) {
		if ok && size >= 6 {
			st := draw.Typeset(size, draw.TextOn(h.scale.Colour(h.class[i][k])), vgdraw.XCenter, vgdraw.YCenter)
			c.FillText(st, vg.Point{X: c.Min.X + (vg.Length(k)+0.5)*h.cell, Y: c.Max.Y - (vg.Length(i)+0.5)*h.cell + draw.Lift}, write(r.mid))
		}
	})
}

// runs draws neighbours of one class in a row as one stroke, and all strokes of a class as
// one path: a field of 256 by 256 is 65 536 cells.
func (h *heatChart) runs(c vgdraw.Canvas) {
	for class := blank; class < h.scale.Classes(); class++ {
		if class == unmeasured {
			continue
		}
		var path vg.Path
		for i, row := range h.class {
			y := c.Max.Y - (vg.Length(i)+0.5)*h.cell
			for k := 0; k < len(row); k++ {
				from := k
				for k < len(row) && row[k] == class {
					k++
				}
				if k > from {
					path.Move(vg.Point{X: c.Min.X + vg.Length(from)*h.cell, Y: y})
					path.Line(vg.Point{X: c.Min.X + vg.Length(k)*h.cell, Y: y})
				}
			}
		}
		colour := draw.Paper
		if class >= 0 {
			colour = draw.Heat[h.scale.Colour(class)]
		}
		if len(path) > 0 {
			c.SetColor(colour.RGBA())
			c.SetLineWidth(h.cell + 0.5) // avoids light seams between the rows
			c.SetLineDash(nil, 0)
			c.Stroke(path)
		}
	}
}

func hatch(c vgdraw.Canvas) {
	const step = vg.Length(5)
	c.FillPolygon(draw.Shade.RGBA(), draw.Rect(c.Min.X, c.Min.Y, c.Max.X, c.Max.Y))
	w, h := c.Max.X-c.Min.X, c.Max.Y-c.Min.Y
	var path vg.Path
	for d := step; d < w+h; d += step { // x + y = d
		path.Move(vg.Point{X: c.Min.X + max(0, d-h), Y: c.Min.Y + min(d, h)})
		path.Line(vg.Point{X: c.Min.X + min(d, w), Y: c.Min.Y + max(0, d-w)})
	}
	c.SetColor(draw.Axis.RGBA())
	c.SetLineWidth(0.6)
	c.SetLineDash(nil, 0)
	c.Stroke(path)
}

func (h *heatChart) legendHeight() vg.Length {
	n := h.scale.Classes()
	if h.missing > 0 {
		n += 2
	}
	return h.top + vg.Length(n)*swatch + 12
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
	if h.missing > 0 {
		y -= swatch
		hatch(vgdraw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: y - swatch}, Max: vg.Point{X: c.Min.X + swatch, Y: y}}})
		c.FillText(bound, vg.Point{X: x, Y: y - swatch/2}, fmt.Sprintf("not measured: %d", h.missing))
	}
}
