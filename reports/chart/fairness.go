package chart

import "locklab/harness/result"

// fairness returns the metric of Jain's index for a picture of g: over slices of one
// length, or over the window if the run has no slices. A picture never mixes the two. A
// lock has no slices if its windows were shorter or had fewer acquisitions than workers.
func (g *Group) fairness() *result.Metric {
	for _, s := range g.Locks {
		for _, c := range s.Cells {
			if c.Summary(result.Jain).N > 0 {
				return result.Jain
			}
		}
	}
	return result.WindowJain
}

// fairnessTitles returns the axis title of m, one of the two metrics.
func fairnessTitles(m *result.Metric, remote bool) string {
	switch {
	case m == result.WindowJain:
		return "Jain index over the window, of any length (100 % = equal shares)"
	case remote:
		return "Jain index within 60 ms (100 % = equal shares)"
	}
	return "Jain index within 20 ms (100 % = equal shares)"
}
