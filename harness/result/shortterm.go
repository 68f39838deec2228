package result

import (
	"iter"
	"math"
	"slices"

	"locklab/harness"
)

// Short-term fairness comes from the owner log: the workers that held the lock, in order,
// in bursts of consecutive acquisitions. The gap between two bursts is unknown, so a run
// or a wait longer than a burst counts as one burst. "Time" is counted in acquisitions
// throughout.

func short(name, unit, doc, paper, better string, of func(log owners) (float64, bool)) *Metric {
	return &Metric{
		Name: name, Unit: unit, Doc: doc, Paper: paper, Better: better,
		Of: func(r *harness.Result) (float64, bool) {
			log := owners{r.Owners, r.Burst, len(r.Workers)}
			if !log.valid() {
				return 0, false
			}
			return of(log)
		},
	}
}

type owners struct {
	ids     []uint16
	burst   int
	workers int
}

// valid reports whether there is a log of at least two workers that names only those.
func (o owners) valid() bool {
	return o.workers > 1 && o.burst > 1 && len(o.ids) >= o.burst &&
		int(slices.Max(o.ids)) < o.workers
}

func (o owners) bursts() iter.Seq[[]uint16] {
	return func(yield func([]uint16) bool) {
		for b := range slices.Chunk(o.ids, o.burst) {
			if len(b) < o.burst || !yield(b) {
				return
			}
		}
	}
}

// weighted returns the least length such that a share q of all time is spent in stretches
// no longer than it. It reorders lengths.
func weighted(lengths []int, q float64) float64 {
	slices.Sort(lengths)
	var total, seen float64
	for _, n := range lengths {
		total += float64(n)
	}
	for _, n := range lengths {
		if seen += float64(n); seen >= q*total {
			return float64(n)
		}
	}
	return math.NaN()
}
