package chart

import (
	"fmt"

	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

func (r *ranking) drawn() draw.Picture {
	out := draw.Rows{Title: r.unit() + " per second, all workers together", Foot: r.notes,
		Heads: []string{map[bool]string{false: "rate", true: "handovers"}[r.Metric() == result.Handovers], "p99 wait", "Jain"},
		Notes: []draw.Note{draw.GlyphNote(vgdraw.CircleGlyph{}, "median and its interval")}}
	if r.g.Remote {
		out.Heads = append(out.Heads, "requests")
	}
	var marks []draw.Mark
	for _, x := range r.rows {
		m := draw.Mark{Mid: x.rate.Median, Lo: x.rate.Lo, Hi: x.rate.Hi}
		row := draw.Row{Tag: x.tag, Name: x.s.Lock.Name, Style: x.s.style, Strong: x.mark == ChosenMark,
			Figures: append([]string{numfmt.PerSecond(x.rate.Median)}, r.more(x)...)}
		if x.mark != PlainMark {
			m.Shape, m.Radius = RankShape(x.mark), 3.6
			row.Sign = m.Shape
		}
		row.Marks = []draw.Mark{m}
		marks = append(marks, m)
		out.Rows = append(out.Rows, row)
	}
	out.Scale = r.scale(marks)
	if l := r.leader; l != nil && l.rate.Median > 0 {
		margin := r.g.Run.Manifest.PracticalMargin()
		out.Scale.Band = [2]float64{l.rate.Median / (1 + margin), l.rate.Median * (1 + margin)}
		out.Notes = append(out.Notes, draw.Note{Colour: draw.Warm, Text: fmt.Sprintf("within %s of %s", numfmt.Percent(100*margin), Short(l.s.Lock.Name, 24))})
	}
	if r.log() {
		out.Title += " (log scale: they differ more than tenfold)"
	}
	return out.Drawn()
}

func (r *ranking) scale(marks []draw.Mark) draw.Scaled {
	lo, hi := draw.Reach(marks)
	s := draw.Scaled{Hi: min(max(1.04*hi, 1e-300), 1e300), Format: numfmt.SI}
	if r.log() {
		s.Log = true
		s.Lo, s.Hi = draw.LogRange(lo, hi)
	} else if r.rows[0].rate.Median == 0 {
		s.Hi = 1
	}
	return s
}

// RankShape returns the shape of a mark.
func RankShape(m RankMark) vgdraw.GlyphDrawer {
	return []vgdraw.GlyphDrawer{PlainMark: vgdraw.CircleGlyph{}, peerMark: vgdraw.PyramidGlyph{}, standardMark: vgdraw.BoxGlyph{}, ChosenMark: draw.Star{}}[m]
}
