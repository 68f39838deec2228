package chart

import (
	"math"

	"locklab/reports/draw"
)

func drawBars(s sheet) (draw.Picture, string) {
	if len(s.readings()) == 0 {
		return draw.Picture{}, "no cell of this table holds a figure"
	}
	write, _ := ticked(s.unit)
	r := draw.Rows{Title: s.axisTitle(s.Log)}
	for i := range s.Rows {
		row := draw.Row{Name: s.names[i], Style: draw.Style{Hue: draw.Ink}}
		for k, j := range s.drawn {
			style := ColumnStyle(k)
			m := draw.Mark{Mid: math.NaN(), Shape: style.Marker, Hue: &style.Hue, Text: words(s.Rows[i], j)}
			if v := s.read(i, j); v.N > 0 {
				m.Mid, m.Lo, m.Hi, m.Text = v.Median, v.Lo, v.Hi, write(v.Median)
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
	r.Fit(s.Log, write)
	return r.Drawn(), s.how("Mark", "line")
}
