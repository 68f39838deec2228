package chart

import (
	"maps"
	"slices"
	"time"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"
)

const mostContenderLines = 12

const (
	ContendersChart    = "contenders-rate"
	ContendersQuestion = "How often is a lock handed over with many contenders?"
	ContendersDoc      = "Filled and solid: measured, with the range of the rounds. Hollow and dashed: computed by the fitted law, with its range. Points with both were left out of the fit. Hue: family; marker: lock."
)

// Picture draws the measured and the computed rates: the latter hollow, dashed and so named.
func (d *Contention) Picture() Picture {
	l := &draw.Lines{XTitle: "contenders (log scale)", YTitle: "handovers per second (log scale)", XScale: draw.Logarithm, Y: draw.LogScale,
		Format: numfmt.SI, Figure: numfmt.SI, Place: "with", ZoneText: "computed, not measured"}
	type part struct {
		name string
		look draw.Look
		at   map[float64]stat.Summary
	}
	var parts []part
	for k, x := range d.locks {
		look := draw.Look{Hue: x.look.Hue, Strong: true, Marker: draw.ModelShapes[k%len(draw.ModelShapes)]}
		measured := make(map[float64]stat.Summary)
		for _, p := range x.fitted.Points {
			measured[float64(p.Contenders)] = p.Rate
			l.Zone = max(l.Zone, float64(p.Contenders))
		}
		parts = append(parts, part{x.Lock.Name, look, measured})
		look.Hollow, look.Dash = true, draw.ModelDashes[0]
		for _, trip := range d.trips {
			name := x.Lock.Name
			if trip > 0 {
				name += " at " + trip.String()
			}
			parts = append(parts, part{name + ", computed", look, x.computed(d.Asked, trip)})
		}
	}
	parts = slices.DeleteFunc(parts, func(p part) bool { return len(p.at) == 0 })
	parts = parts[:min(len(parts), mostContenderLines)]
	seen := make(map[float64]bool)
	for _, p := range parts {
		for n := range p.at {
			seen[n] = true
		}
	}
	for _, n := range slices.Sorted(maps.Keys(seen)) {
		l.Stops = append(l.Stops, draw.Stop{At: n, Label: numfmt.SI(n)})
	}
	for _, p := range parts {
		l.Add(p.name, p.look, func(i int) stat.Summary { return p.at[l.Stops[i].At] })
	}
	if len(l.Lines) == 0 {
		return Picture{Answer: d.Answer()}
	}
	return ofLines(l, d.Answer(), Table{}, d.Group.source(result.Handovers))
}

func (l contendedLock) computed(asked []int, trip time.Duration) map[float64]stat.Summary {
	out := make(map[float64]stat.Summary)
	if l.why != "" {
		return out
	}
	add := func(n int, r judge.PredictedTime) {
		out[float64(n)] = stat.Summary{Median: r.Value, Lo: r.Lo, Hi: r.Hi, N: 1}
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
	return out
}

// ContendersCharts returns the name of the chart, if the reader asked for it.
func ContendersCharts(run *result.Run) []string {
	if len(run.Contenders) == 0 {
		return nil
	}
	return []string{ContendersChart}
}
