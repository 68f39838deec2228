package reports

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// An endLabel names a line at its right end: these charts have no legend.
type endLabel struct {
	y    vg.Length // the end of the line
	text string
	look look
}

// labelSep is between a name and its figure. (HTML joins common spaces.)
const labelSep = nb + nb

const (
	labelSize = 8.5
	labelGap  = vg.Length(labelSize * 1.25)
	labelLead = vg.Length(48) // leader line, dash and marker left of the text
	mostRoom  = width * 3 / 5 // greatest width of labels; the rest of the page is for the data
)

// labelRoom returns the width of the labels next to the data.
func labelRoom(labels []endLabel) vg.Length {
	var w vg.Length
	for _, l := range labels {
		w = max(w, bold(typeset(labelSize, ink, 0, 0)).Width(l.text))
	}
	return min(w+labelLead+4, mostRoom)
}

// drawLabels writes labels right of x, each with a leader from its line's end.
func drawLabels(c draw.Canvas, x vg.Length, labels []endLabel) {
	pos := spread(labels, labelGap, c.Min.Y-6, c.Max.Y+6)
	for i, l := range labels {
		y := pos[i]
		c.StrokeLines(draw.LineStyle{Color: l.look.hue.alpha(150), Width: vg.Points(0.6)},
			[]vg.Point{{X: x + 5, Y: l.y}, {X: x + 14, Y: y}, {X: x + 19, Y: y}})
		c.StrokeLine2(l.look.line(), x+21, y, x+42, y)
		l.look.mark(c, vg.Point{X: x + 31.5, Y: y})
		st := typeset(labelSize, muted, draw.XLeft, draw.YCenter)
		if l.look.strong {
			st = bold(typeset(labelSize, ink, draw.XLeft, draw.YCenter))
		}
		c.FillText(st, vg.Point{X: x + labelLead, Y: y}, l.text)
	}
}

// spread returns heights for labels. They keep their order, are at least gap apart and
// within lo to hi, and as near as possible to their lines. It is the isotonic regression of
// y - rank·gap, by pooling adjacent violators. If they do not fit, the gap shrinks.
func spread(labels []endLabel, gap, lo, hi vg.Length) []vg.Length {
	n := len(labels)
	if n > 1 {
		gap = min(gap, (hi-lo)/vg.Length(n-1))
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(labels[a].y, labels[b].y) })

	type block struct {
		sum vg.Length
		n   int
	}
	mean := func(b block) vg.Length { return b.sum / vg.Length(b.n) }
	var blocks []block
	for rank, i := range order {
		blocks = append(blocks, block{labels[i].y - vg.Length(rank)*gap, 1})
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

// rowName returns the style of a name next to its row.
func (l look) rowName() text.Style {
	st := typeset(8.5, ink, draw.XRight, draw.YCenter)
	if l.strong {
		st = bold(st)
	}
	return st
}

// lift centres figures optically: they have no descenders.
const lift = vg.Length(0.8)
