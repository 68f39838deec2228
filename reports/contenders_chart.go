package reports

import (
	"cmp"
	"slices"
	"time"

	"locklab/harness/metric"
	"locklab/harness/predict"
	"locklab/harness/resultfile"
	"locklab/internal/numfmt"
)

// mostContenderLines is the greatest number of lines in the chart.
const mostContenderLines = 12

const (
	contendersChart    = "contenders-rate"
	contendersQuestion = "How often is a lock handed over with many contenders?"
	contendersDoc      = "Filled and solid: measured, with the range of the rounds. Hollow and dashed: computed by the fitted law, with its range. Points with both were left out of the fit. Hue: family; marker: lock."
)

// picture draws the measured and the computed rates.
func (d *contention) picture() picture {
	chart := computedChart{xTitle: "contenders (log scale)", yTitle: "handovers per second (log scale)", format: numfmt.SI}
	for _, l := range d.locks {
		for i, trip := range d.trips {
			line := computedLine{name: l.Lock.Name, hue: l.look.hue, strong: l.look.strong, computed: l.computed(d.asked, trip)}
			if i == 0 {
				for _, p := range l.fitted.Points {
					line.measured = append(line.measured, computedPoint{float64(p.Contenders), p.Rate.Median, p.Rate.Lo, p.Rate.Hi})
					chart.most = max(chart.most, float64(p.Contenders))
				}
			} else {
				line.name += " at " + trip.String()
			}
			if (i == 0 || len(line.computed) > 0) && len(chart.lines) < mostContenderLines {
				chart.lines = append(chart.lines, line)
			}
		}
	}
	return picture{answer: d.answer(), sketch: chart.drawn(), data: d.group.source(metric.Handovers)}
}

// computed returns the rates at the points left out of the fit and at those asked for.
func (l contendedLock) computed(asked []int, trip time.Duration) (out []computedPoint) {
	if l.why != "" {
		return nil
	}
	add := func(n int, r predict.Time) {
		out = append(out, computedPoint{float64(n), r.Value, r.Lo, r.Hi})
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
	slices.SortFunc(out, func(a, b computedPoint) int { return cmp.Compare(a.x, b.x) })
	return out
}

// ContendersCharts returns the name of the chart of contenders, if the reader of run asked
// for it.
func ContendersCharts(run *resultfile.Run) []string {
	if len(run.Contenders) == 0 {
		return nil
	}
	return []string{contendersChart}
}

// contendersPage returns the page of the chart of contenders; false if name is another
// chart or the reader of run did not ask for it.
func contendersPage(run *resultfile.Run, name string) (page, bool) {
	if name != contendersChart || len(run.Contenders) == 0 {
		return page{}, false
	}
	p := page{title: contendersQuestion, foot: origin(run), note: contendersDoc, pic: nothing("%s", noGroup(true))}
	if d := newContention(run, groups(run)); d != nil && d.hasLaw() {
		p.pic = d.picture()
		p.data, p.note = plain(p.pic.data.sentence()), contendersDoc+" Workload: "+d.group.Axes+"."
	}
	p.answer = p.pic.answer
	return p, true
}
