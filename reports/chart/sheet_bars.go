package chart

import (
	"fmt"
	"math"

	"locklab/reports/draw"
)

// Limits of one picture of rows; the table has the rest.
const (
	mostBarRows    = 60
	mostBarColumns = 5 // one for each hue
)

func drawBars(s sheet) (Picture, string) {
	hidden := s.limit(mostBarColumns)
	if n := len(s.Rows); n > mostBarRows {
		hidden += fmt.Sprintf(" The first %d of %d rows are drawn.", mostBarRows, n)
	}
	rs := s.readings(mostBarRows)
	if len(rs) == 0 {
		return nothing("There is nothing to draw: no cell of this table holds a figure."), ""
	}
	scale := s.scale(rs)
	r := draw.Rows{Title: s.axisTitle(scale.Log), Scale: scale}
	write, _ := ticked(s.unit)
	for i := range min(mostBarRows, len(s.Rows)) {
		row := draw.Row{Name: s.names[i], Style: draw.Style{Hue: draw.Ink}}
		for k, j := range s.drawn {
			hue := ColumnStyle(k).Hue
			m := draw.Mark{Mid: math.NaN(), Text: s.words(i, j)}
			if x, ok := s.read(i, j); ok {
				m = draw.Mark{Mid: x.mid, Lo: x.lo, Hi: x.hi, Shape: ColumnStyle(k).Marker, Hue: &hue, Text: write(x.mid)}
			}
			row.Marks = append(row.Marks, m)
		}
		r.Rows = append(r.Rows, row)
	}
	if len(s.drawn) > 1 {
		for k, j := range s.drawn {
			r.Notes = append(r.Notes, draw.Note{Colour: ColumnStyle(k).Hue, Text: Short(s.Columns[j].Name, 24)})
		}
	}
	return Picture{Picture: r.Drawn()}, s.how("Mark", "line", rs) + hidden
}

func (s sheet) scale(rs []reading) draw.Scaled {
	out := draw.Scaled{}
	out.Format, _ = ticked(s.unit)
	if lo, hi, ok := span(rs, true); s.Log && ok {
		out.Log = true
		out.Lo, out.Hi = draw.LogRange(lo, hi)
		return out
	}
	lo, hi, _ := span(rs, false)
	out.Lo, out.Hi = min(lo, 0), max(hi, 0)
	if out.Lo == out.Hi {
		out.Hi = 1
	}
	pad := (out.Hi - out.Lo) * 0.02
	if out.Lo < 0 {
		out.Lo -= pad
	}
	out.Hi += pad
	return out
}
