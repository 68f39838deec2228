package result

import (
	"slices"

	"locklab/harness"
)

// RankLeast is the share of its fair share that the least served rank got, in percent:
// its acquisitions per worker relative to all ranks together. 100 is fair, 0 is a process
// whose workers got nothing in the window. It exists for merged results only.
//
// Source: the least share as the criterion of max-min fairness: D. Bertsekas, R.
// Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2. An index such as
// [RankJain] can be near 100 % while one of many gets nothing.
var RankLeast = &Metric{
	Name:   "rank-least",
	Unit:   "rank-least-%",
	Doc:    "acquisitions per worker of the least served rank over those of all",
	Paper:  "Bertsekas & Gallager 1992",
	Better: Higher,
	Of: func(r *harness.Result) (float64, bool) {
		if r.Workload.Rate > 0 {
			return 0, false
		}
		each, ok := perWorker(r, func(k harness.Rank) any { return k.Rank })
		if !ok {
			return 0, false
		}
		var ops, workers float64
		for _, k := range r.Ranks {
			ops += float64(k.Ops)
			workers += float64(k.Workers)
		}
		return 100 * slices.Min(each) / (ops / workers), true
	},
}
