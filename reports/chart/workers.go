package chart

import (
	"fmt"
	"strconv"

	"locklab/harness/result"
	"locklab/internal/stat"
	"locklab/reports/draw"
)

// workersChart returns a chart of m over the workers of g; a log axis omits zero and less.
func workersChart(g *Group, m *result.Metric, y draw.Scale) *draw.Lines {
	l := &draw.Lines{XTitle: "workers contending for one lock (log scale)", XScale: draw.Logarithm, Place: "with", Y: y, Stops: stopsAt(g.Workers)}
	if !g.Remote {
		l.Zone, l.ZoneText = beyondCPUs(g.CPUs)
	}
	for _, s := range g.Locks {
		l.Add(s.Lock.Name, s.style, func(i int) stat.Summary { return s.Cells[g.Workers[i]].Summary(m) })
	}
	return l
}

// stopsAt returns the stops of an axis at numbers of workers.
func stopsAt(ns []int) (out []draw.Stop) {
	for _, n := range ns {
		out = append(out, draw.Stop{At: float64(n), Label: strconv.Itoa(n)})
	}
	return out
}

func beyondCPUs(cpus int) (from float64, text string) {
	return float64(cpus), fmt.Sprintf("more workers than CPUs (%d)", cpus)
}

func ofLines(l *draw.Lines, answer string, numbers Table, data Source) Picture {
	return Picture{Answer: answer, Numbers: numbers, Data: data, Picture: l.Drawn()}
}

const lineDoc = "Line: median of the rounds; band: its 95 % order-statistic interval, or the range of the rounds if there are fewer than six. Hue: family; dash and marker: lock; thin: a lock that is kept to show a bug, or the control."
