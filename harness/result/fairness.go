package result

import (
	"slices"

	"locklab/harness"
)

func shares(r *harness.Result) (desc []float64, sum float64, ok bool) {
	desc = make([]float64, len(r.Workers))
	for i, n := range r.Workers {
		desc[i] = float64(n)
		sum += float64(n)
	}
	slices.Sort(desc)
	slices.Reverse(desc)
	return desc, sum, len(desc) > 1 && sum > 0
}

// long returns a metric of long-term fairness: the distribution of the acquisitions of
// the whole window. Workers without any count too.
func long(name, unit, doc, paper, better string, of func(desc []float64, sum float64) float64) *Metric {
	return closed(&Metric{
		Name: name, Unit: unit, Doc: doc, Paper: paper, Better: better,
		Of: func(r *harness.Result) (float64, bool) {
			desc, sum, ok := shares(r)
			if !ok {
				return 0, false
			}
			return of(desc, sum), true
		},
	})
}
