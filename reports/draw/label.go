package draw

import (
	"cmp"
	"slices"

	"locklab/internal/numfmt"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// An EndLabel names a line at its right end: these charts have no legend.
type EndLabel struct {
	Y     vg.Length // the end of the line
	Text  string
	Style Style
}

// LabelSep is between a name and its figure. (HTML joins common spaces.)
const LabelSep = numfmt.Space + numfmt.Space

const (
	LabelSize = 8.5
	LabelGap  = vg.Length(LabelSize * 1.25)
	LabelLead = vg.Length(48) // leader line, dash and marker left of the text
	mostRoom  = Width * 3 / 5 // greatest width of labels; the rest of the page is for the data
)

// LabelRoom returns the width of the labels next to the data.
func LabelRoom(labels []EndLabel) vg.Length {
	var w vg.Length
	for _, l := range labels {
		w = max(w, Bold(Typeset(LabelSize, Ink, 0, 0)).Width(l.Text))
	}
	return min(w+LabelLead+4, mostRoom)
}

// DrawLabels writes labels right of x, each with a leader from its line's end.
func DrawLabels(c draw.Canvas, x vg.Length, labels []EndLabel) {
	pos := Spread(labels, LabelGap, c.Min.Y-6, c.Max.Y+6)
	for i, l := range labels {
		y := pos[i]
		c.StrokeLines(draw.LineStyle{Color: l.Style.Hue.Alpha(150), Width: vg.Points(0.6)},
			[]vg.Point{{X: x + 5, Y: l.Y}, {X: x + 14, Y: y}, {X: x + 19, Y: y}})
		c.StrokeLine2(l.Style.Line(), x+21, y, x+42, y)
		l.Style.Mark(c, vg.Point{X: x + 31.5, Y: y})
		st := Typeset(LabelSize, Muted, draw.XLeft, draw.YCenter)
		if l.Style.Strong {
			st = Bold(Typeset(LabelSize, Ink, draw.XLeft, draw.YCenter))
		}
		c.FillText(st, vg.Point{X: x + LabelLead, Y: y}, l.Text)
	}
}

// Spread returns heights for labels. They keep their order, are at least gap apart and
// within lo to hi, and as near as possible to their lines. It is the isotonic regression of
// y - rank·gap, by pooling adjacent violators. If they do not fit, the gap shrinks.
func Spread(labels []EndLabel, gap, lo, hi vg.Length) []vg.Length {
	n := len(labels)
	if n > 1 {
		gap = min(gap, (hi-lo)/vg.Length(n-1))
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(labels[a].Y, labels[b].Y) })

	type block struct {
		sum vg.Length
		n   int
	}
	mean := func(b block) vg.Length { return b.sum / vg.Length(b.n) }
	var blocks []block
	for rank, i := range order {
		blocks = append(blocks, block{labels[i].Y - vg.Length(rank)*gap, 1})
		for k := len(blocks) - 1; k > 0 && mean(blocks[k-1]) > mean(blocks[k]); k-- {
			blocks[k-1] = block{blocks[k-1].sum + blocks[k].sum, blocks[k-1].n + blocks[k].n}
			blocks = blocks[:k]
		}
	}
	out := make([]vg.Length, n)
	rank := 0
	for _, b := range blocks {
		base := max(lo, min(mean(b), hi-vg.Length(n-1)*gap))
		for range b.n {
			out[order[rank]] = base + vg.Length(rank)*gap
			rank++
		}
	}
	return out
}

// RowName returns the style of a name next to its row.
func (s Style) RowName() text.Style {
	st := Typeset(8.5, Ink, draw.XRight, draw.YCenter)
	if s.Strong {
		st = Bold(st)
	}
	return st
}

// Lift centres figures optically: they have no descenders.
const Lift = vg.Length(0.8)
