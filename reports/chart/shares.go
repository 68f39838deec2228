package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// SharesLocal and SharesRemote draw the share of each worker, at the greatest number of
// workers at which most locks were measured.
var (
	SharesLocal = &Chart{
		Name:  "shares",
		Title: "How unequal are the workers' shares?",
		Doc:   sharesDoc,
		Draw:  drawShares,
	}
	SharesRemote = &Chart{
		Name:   "shares-distributed",
		Title:  "How unequal are the workers' shares of a distributed lock?",
		Doc:    sharesDoc,
		Remote: true,
		Draw:   drawShares,
	}
)

const sharesDoc = "One bar a worker, busiest first: its acquisitions divided by an equal share, the median over the rounds of the worker at that place. The line is an equal share. Least fair lock first."

type tile struct {
	s    *series
	bars []float64 // times an equal share, descending
	jain float64   // median, percent
}

func drawShares(g *Group) Picture {
	w := g.Crowd()
	var tiles []tile
	for _, s := range g.at(w) {
		if v := s.Cells[w].Summary(metric.WindowJain); v.N > 0 && s.Lock.Status != harness.Control {
			tiles = append(tiles, tile{s, barsOf(s.Cells[w]), v.Median})
		}
	}
	if len(tiles) == 0 {
		return nothing("No lock was measured with two or more workers, so there are no shares to compare.")
	}
	slices.SortStableFunc(tiles, func(a, b tile) int { return cmp.Compare(a.jain, b.jain) })
	rows := (len(tiles) + tileColumns - 1) / tileColumns
	return Picture{
		Answer:  sharesAnswer(g, w, tiles),
		Picture: draw.Picture{Height: vg.Length(rows)*96 + 34, Body: func(c vgdraw.Canvas) error { return sharesBody(c, rows, tiles) }},
		Numbers: sharesTable(tiles),
		Data:    Source{Metrics: []*metric.Metric{metric.WindowJain}, Fields: []string{"workers"}, Rounds: []int{roundsOf(g)}},
	}
}

func sharesAnswer(g *Group, w int, tiles []tile) string {
	worst, best := tiles[0], tiles[len(tiles)-1]
	text := fmt.Sprintf("With %s, the busiest worker of %s takes %s its equal share", g.unit(w), worst.s.Lock.Name, numfmt.Times(worst.bars[0]))
	switch least := worst.bars[len(worst.bars)-1]; {
	case least == 0:
		text += " and the least served one gets nothing."
	default:
		text += fmt.Sprintf(" and the least served one %s of it.", numfmt.Percent(100*least))
	}
	if len(tiles) > 1 {
		lo, hi := numfmt.Percent(100*best.bars[len(best.bars)-1]), numfmt.Percent(100*best.bars[0])
		if lo != hi {
			hi = lo + " to " + hi
		}
		text += fmt.Sprintf(" At the other end, every worker of %s gets %s.", best.s.Lock.Name, hi)
	}
	return text
}

// tileColumns is the number of locks side by side.
const tileColumns = 4

func sharesBody(c vgdraw.Canvas, rows int, tiles []tile) error {
	top := 2.0
	for _, t := range tiles {
		top = max(top, t.bars[0])
	}
	top = min(math.Ceil(top), 8)
	c.FillText(draw.Typeset(9, draw.Ink, vgdraw.XLeft, vgdraw.YTop), vg.Point{X: c.Min.X, Y: c.Max.Y}, "acquisitions of a worker ÷ equal share")
	c = vgdraw.Crop(c, 26, 0, 0, -vg.Points(16))
	gapX, high := vg.Length(12), c.Size().Y/vg.Length(rows)
	wide := (c.Size().X - gapX*(tileColumns-1)) / tileColumns
	for i, t := range tiles {
		col, row := i%tileColumns, i/tileColumns
		x, y := c.Min.X+vg.Length(col)*(wide+gapX), c.Max.Y-vg.Length(row)*high
		box := vgdraw.Crop(c, 0, 0, 0, 0)
		box.Min, box.Max = vg.Point{X: x, Y: y - high + 12}, vg.Point{X: x + wide, Y: y - 18}
		t.draw(box, top, col == 0)
	}
	return nil
}

// draw draws one tile, with the scale if scale is set.
func (t tile) draw(c vgdraw.Canvas, top float64, scale bool) {
	p := draw.NewPlot(0, float64(len(t.bars)), 0, top)
	trX, trY := p.Transforms(&c)
	step := math.Ceil(top / 4)
	for v := 0.0; v <= top; v += step {
		c.StrokeLine2(vgdraw.LineStyle{Color: draw.Grid.RGBA(), Width: vg.Points(0.6)}, c.Min.X, trY(v), c.Max.X, trY(v))
		if scale {
			c.FillText(draw.Typeset(8, draw.Muted, vgdraw.XRight, vgdraw.YCenter), vg.Point{X: c.Min.X - 4, Y: trY(v)}, numfmt.Number(v)+"×")
		}
	}
	name := draw.Typeset(8.5, draw.Ink, vgdraw.XLeft, vgdraw.YBottom)
	if t.s.look.Strong {
		name = draw.Bold(name)
	}
	right := draw.Typeset(7.5, draw.Muted, vgdraw.XRight, vgdraw.YBottom)
	jain := "Jain " + numfmt.Percent(t.jain)
	c.FillText(name, vg.Point{X: c.Min.X, Y: c.Max.Y + 4}, draw.Shorten(name, t.s.Lock.Name, c.Size().X-right.Width(jain)-6))
	c.FillText(right, vg.Point{X: c.Max.X, Y: c.Max.Y + 4}, jain)

	c.SetColor(t.s.look.Hue.RGBA())
	c.Fill(t.outline(c, trX, func(v float64) vg.Length { return trY(min(v, top)) }))
	if t.bars[0] > top {
		c.FillText(draw.Typeset(7.5, draw.Ink, vgdraw.XLeft, vgdraw.YTop), vg.Point{X: trX(1) + 3, Y: c.Max.Y}, "↑ "+numfmt.Number(t.bars[0])+"×")
	}
	c.StrokeLine2(vgdraw.LineStyle{Color: draw.Ink.RGBA(), Width: vg.Points(0.8)}, c.Min.X, trY(1), c.Max.X, trY(1))
}

// mostBars limits the separate bars of a tile; more are drawn as one area.
const mostBars = 48

// outline returns all bars as one path: a page holds thousands of them.
func (t tile) outline(c vgdraw.Canvas, x, y func(float64) vg.Length) (path vg.Path) {
	if n := len(t.bars); n > mostBars {
		var tops []vg.Point
		for i, v := range t.bars {
			tops = append(tops, vg.Point{X: x(float64(i)), Y: y(v)}, vg.Point{X: x(float64(i + 1)), Y: y(v)})
		}
		path.Move(vg.Point{X: x(0), Y: c.Min.Y})
		for _, pt := range draw.Thin(tops, 0.3) {
			path.Line(pt)
		}
		path.Line(vg.Point{X: x(float64(n)), Y: c.Min.Y})
		path.Close()
		return path
	}
	for i, v := range t.bars {
		x0, x1 := x(float64(i)+0.08), x(float64(i)+0.92)
		path.Move(vg.Point{X: x0, Y: c.Min.Y})
		path.Line(vg.Point{X: x0, Y: y(v)})
		path.Line(vg.Point{X: x1, Y: y(v)})
		path.Line(vg.Point{X: x1, Y: c.Min.Y})
		path.Close()
	}
	return path
}

func sharesTable(tiles []tile) Table {
	t := Table{Head: slices.Concat(Titles("lock", "workers"), ByName(metric.WindowJain), Titles("busiest", "second", "middle", "least"))}
	for _, x := range tiles {
		n := len(x.bars)
		row := []string{x.s.Lock.Name, strconv.Itoa(n), numfmt.Percent(x.jain)}
		for _, i := range []int{0, min(1, n-1), n / 2, n - 1} {
			row = append(row, numfmt.Number(x.bars[i])+"×")
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
