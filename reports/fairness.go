package reports

import "locklab/harness/metric"

// fairness is Jain's index by which the locks of g are drawn: that of slices of one
// length, or of a run that has no slices that of the window. A picture has one of
// the two: a lock has no slices where the others have them if its windows were
// shorter, or with fewer acquisitions than workers.
func (g *group) fairness() *metric.Metric {
	for _, s := range g.series {
		for _, c := range s.Cells {
			if c.Summary(metric.Jain).N > 0 {
				return metric.Jain
			}
		}
	}
	return metric.WindowJain
}

// fairnessTitles returns what is on the axis of m, one of the two.
func fairnessTitles(m *metric.Metric, remote bool) string {
	switch {
	case m == metric.WindowJain:
		return "Jain index over the window, of any length (100 % = equal shares)"
	case remote:
		return "Jain index within 60 ms (100 % = equal shares)"
	}
	return "Jain index within 20 ms (100 % = equal shares)"
}
