package chart

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"
)

// longRange is the least ratio of X for a logarithmic axis.
const longRange = 8

func drawCurves(s sheet) (draw.Picture, string) {
	rows, nowhere := s.ordered()
	write, _ := ticked(s.unit)
	l := &draw.Lines{Place: "at", XTitle: s.Label, Format: write, Figure: write, YTitle: s.axisTitle(s.Log), Y: draw.CountScale}
	if s.Log {
		l.Y = draw.LogScale
	}
	at := make(map[float64]int) // the row of a stop
	for _, i := range rows {
		if x := s.Rows[i].X; len(l.Stops) == 0 || l.Stops[len(l.Stops)-1].At != x {
			at[x] = i
			l.Stops = append(l.Stops, draw.Stop{At: x, Label: Short(cmp.Or(s.Rows[i].Label, numfmt.Number(x)), 12)})
		}
	}
	if n := len(l.Stops); n > 1 && l.Stops[0].At > 0 && l.Stops[n-1].At/l.Stops[0].At > longRange {
		l.XScale, l.XTitle = draw.Logarithm, strings.TrimSpace(l.XTitle+" (log scale)")
	}
	for k, j := range s.drawn {
		l.Add(Short(s.Columns[j].Name, MostName), ColumnStyle(k), func(i int) stat.Summary { return s.read(at[l.Stops[i].At], j) })
	}
	if len(l.Lines) == 0 {
		return draw.Picture{}, "no cell of this table has both a figure and a place on the axis"
	}
	text := s.how("Line", "band")
	if len(nowhere) > 0 {
		text += " Only in the table: " + numfmt.List(nowhere, 4) + "."
	}
	return l.Drawn(), text
}

func (s sheet) ordered() (rows []int, nowhere []string) {
	for i, r := range s.Rows {
		switch a := math.Abs(r.X); {
		case a > 0 && a <= draw.Beyond:
			rows = append(rows, i)
		default:
			nowhere = append(nowhere, s.names[i])
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(s.Rows[a].X, s.Rows[b].X) })
	return rows, nowhere
}
