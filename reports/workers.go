package reports

import (
	"strconv"

	"locklab/harness/metric"
	"locklab/harness/stat"
)

// workersChart returns a chart of m over the number of workers of g. A logarithmic y axis
// omits values of zero or less; the table has them.
func workersChart(g *group, m *metric.Metric, y scale) *lineChart {
	l := &lineChart{xTitle: "workers contending for one lock (log scale)", xScale: logarithm, place: "with", y: y}
	if !g.Remote {
		l.cpus = g.CPUs
	}
	for _, w := range g.Workers {
		l.stops = append(l.stops, stop{float64(w), strconv.Itoa(w)})
	}
	for _, s := range g.series {
		l.add(s.Lock.Name, s.look, func(i int) stat.Summary { return s.Cells[g.Workers[i]].Summary(m) })
	}
	return l
}

// ofLines returns the picture of l.
func ofLines(l *lineChart, answer string, numbers table, data source) picture {
	return picture{answer: answer, numbers: numbers, data: data, sketch: l.drawn()}
}

const lineDoc = "Line: median of the rounds; band: its 95 % order-statistic interval, or the range of the rounds if there are fewer than six. Hue: family; dash and marker: lock; bold: a lock to use, the others are there to compare."
