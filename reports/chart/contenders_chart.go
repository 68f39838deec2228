package chart

import (
	"cmp"
	"slices"
	"time"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// mostContenderLines is the greatest number of lines in the chart.
const mostContenderLines = 12

const (
	ContendersChart    = "contenders-rate"
	ContendersQuestion = "How often is a lock handed over with many contenders?"
	ContendersDoc      = "Filled and solid: measured, with the range of the rounds. Hollow and dashed: computed by the fitted law, with its range. Points with both were left out of the fit. Hue: family; marker: lock."
)

// Picture draws the measured and the computed rates.
func (d *Contention) Picture() Picture {
	chart := draw.Computed{XTitle: "contenders (log scale)", YTitle: "handovers per second (log scale)", Format: numfmt.SI}
	for _, l := range d.locks {
		for i, trip := range d.trips {
			line := draw.ComputedLine{Name: l.Lock.Name, Hue: l.look.Hue, Strong: l.look.Strong, Computed: l.computed(d.Asked, trip)}
			if i == 0 {
				for _, p := range l.fitted.Points {
					line.Measured = append(line.Measured, draw.ComputedPoint{X: float64(p.Contenders), Y: p.Rate.Median, Lo: p.Rate.Lo, Hi: p.Rate.Hi})
					chart.Most = max(chart.Most, float64(p.Contenders))
				}
			} else {
				line.Name += " at " + trip.String()
			}
			if (i == 0 || len(line.Computed) > 0) && len(chart.Lines) < mostContenderLines {
				chart.Lines = append(chart.Lines, line)
			}
		}
	}
	return Picture{Answer: d.Answer(), Picture: chart.Drawn(), Data: d.Group.source(result.Handovers)}
}

// computed returns the rates at the points left out of the fit and at those asked for.
func (l contendedLock) computed(asked []int, trip time.Duration) (out []draw.ComputedPoint) {
	if l.why != "" {
		return nil
	}
	add := func(n int, r judge.PredictedTime) {
		out = append(out, draw.ComputedPoint{X: float64(n), Y: r.Value, Lo: r.Lo, Hi: r.Hi})
	}
	if trip == 0 {
		for _, x := range l.fitted.LeftOut() {
			add(x.Point.Contenders, x.Predicted.Rate)
		}
	}
	for _, n := range asked {
		if p, why := l.at(n, trip); why == "" {
			add(n, p.Rate)
		}
	}
	slices.SortFunc(out, func(a, b draw.ComputedPoint) int { return cmp.Compare(a.X, b.X) })
	return out
}

// ContendersCharts returns the name of the chart of contenders, if the reader of run asked
// for it.
func ContendersCharts(run *result.Run) []string {
	if len(run.Contenders) == 0 {
		return nil
	}
	return []string{ContendersChart}
}
