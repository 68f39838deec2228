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

const (
	mostCurves = 20
	longRange  = 8 // least ratio of X for a logarithmic axis
)

func drawCurves(s sheet) (Picture, string) {
	hidden := s.limit(mostCurves)
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
	var all []reading
	for k, j := range s.drawn {
		l.Add(Short(s.Columns[j].Name, MostName), ColumnStyle(k), func(i int) stat.Summary {
			r, ok := s.read(at[l.Stops[i].At], j)
			if !ok {
				return stat.Summary{}
			}
			all = append(all, r)
			return stat.Summary{Median: r.mid, Lo: r.lo, Hi: r.hi, N: r.n}
		})
	}
	if len(l.Lines) == 0 {
		return nothing("There is nothing to draw: no cell of this table has both a figure and a place on the axis."), ""
	}
	text := s.how("Line", "band", all)
	if len(nowhere) > 0 {
		text += " Only in the table: " + numfmt.List(nowhere, 4) + "."
	}
	return Picture{Picture: l.Drawn()}, text + hidden
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
