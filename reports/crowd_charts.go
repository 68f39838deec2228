package reports

import (
	"maps"
	"slices"
	"time"

	"locklab/harness/metric"
	"locklab/harness/predict"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
	"locklab/internal/numfmt"
)

// mostCrowds is how many lines a chart of crowds holds.
const mostCrowds = 12

// A crowdChart draws one figure of crowds.
type crowdChart struct {
	name, title, doc string
	metric           *metric.Metric
	measured         func(p predict.Point) stat.Summary
	computed         func(e predict.Estimate) predict.Time
	yTitle           string
	format           func(v float64) string
}

const crowdDoc = "Filled and solid: measured, with the range of the rounds. Hollow and dashed: computed by the model, with its range; right of the last measurement nothing else is known. Where both stand over each other, the measurement was left out of the calibration. Hue: family; marker: lock."

var crowdCharts = []crowdChart{
	{
		name: "contenders-rate", title: "How often is a lock handed over among many contenders?", doc: crowdDoc, metric: metric.Handovers,
		measured: func(p predict.Point) stat.Summary { return p.Rate },
		computed: func(e predict.Estimate) predict.Time { return e.Rate },
		yTitle:   "hand-overs per second (log scale)", format: numfmt.SI,
	},
	{
		name: "contenders-wait", title: "How long does a contender wait among many?", doc: crowdDoc + " Of a lock that serves in no order no wait is computed.", metric: metric.P50,
		measured: func(p predict.Point) stat.Summary { return p.Wait },
		computed: func(e predict.Estimate) predict.Time { return e.Wait },
		yTitle:   "median wait (log scale)", format: numfmt.Nanos,
	},
}

// picture returns the picture of x.
func (d *crowds) picture(x crowdChart) picture {
	chart := computedChart{xTitle: "contenders (log scale)", yTitle: x.yTitle, format: x.format}
	for _, l := range d.locks {
		for i, trip := range append([]time.Duration{0}, d.trips...) {
			line := computedLine{name: l.Lock.Name, hue: l.look.hue, strong: l.look.strong}
			if i == 0 {
				for _, p := range l.crowd.Points {
					if v := x.measured(p); v.N > 0 {
						line.measured = append(line.measured, computedPoint{float64(p.Contenders), v.Median, v.Lo, v.Hi})
						chart.most = max(chart.most, float64(p.Contenders))
					}
				}
			} else {
				line.name += " at " + trip.String()
			}
			line.computed = d.computed(l, x, trip)
			if (i == 0 || len(line.computed) > 0) && len(chart.lines) < mostCrowds {
				chart.lines = append(chart.lines, line)
			}
		}
	}
	pic := chart.picture(d.answer())
	pic.data = d.group.source(x.metric)
	return pic
}

// computed returns what the model of l says, of the points that it was not calibrated by
// and of those that were asked for.
func (d *crowds) computed(l crowdLock, x crowdChart, trip time.Duration) (out []computedPoint) {
	if l.why != "" {
		return nil
	}
	at := make(map[int]predict.Time)
	if trip == 0 {
		for _, m := range l.crowd.LeftOut() {
			if m.Why == "" {
				at[m.Point.Contenders] = x.computed(m.Predicted)
			}
		}
	}
	for _, n := range d.asked {
		if e, why := l.crowd.At(n, float64(trip)); why == "" {
			at[n] = x.computed(e)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(at)) {
		t := at[n]
		out = append(out, computedPoint{float64(n), t.Value, t.Lo, t.Hi})
	}
	return out
}

// The questions of the tables.
const (
	crowdTitle  = "What would it do among so many contenders, and how good is the model?"
	breaksTitle = "What breaks first as contenders grow more, and what helps?"
)

// CrowdCharts returns the names of the charts of many contenders that run has: those that
// its reader asked for.
func CrowdCharts(run *resultfile.Run) (names []string) {
	if len(run.Contenders) == 0 {
		return nil
	}
	for _, x := range crowdCharts {
		names = append(names, x.name)
	}
	return names
}

// crowdPage returns the page of the chart of that name; false if there is none.
func crowdPage(run *resultfile.Run, name string) (page, bool) {
	for _, x := range crowdCharts {
		if x.name != name || len(run.Contenders) == 0 {
			continue
		}
		p := page{title: x.title, foot: origin(run), note: x.doc, pic: nothing("%s", noGroup(true))}
		if d := newCrowds(run, groups(run)); d != nil {
			p.pic = d.picture(x)
			p.data, p.note = plain(p.pic.data.sentence()), x.doc+" Workload: "+d.group.Axes+"."
		}
		p.answer = p.pic.answer
		return p, true
	}
	return page{}, false
}
