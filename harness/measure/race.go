package measure

import (
	"cmp"
	"math"
	"slices"

	"locklab/harness/result"
)

// Limits of a race.
const (
	raceRounds = 3   // after which a lock may leave
	farSlower  = 0.5 // of the other lock's rate
)

// A Race finds local locks that are far slower than the fastest one and all references in every
// pass of their process. After raceRounds such rounds in a row a lock has one block and its
// window in the next, and the others take its time for more blocks. The ratio of a round does not
// decide the number of its own blocks, so the error rate of the comparisons does not change.
type Race struct {
	// Reference, if not nil, reports whether others are compared with a lock: it takes part in
	// all passes, and a local one has more blocks.
	Reference func(result.Lock) bool

	slow map[string]int // the number of the latest such rounds in a row, by case
}

func (r Race) refers(l result.Lock) bool { return r.Reference != nil && r.Reference(l) }

// turns returns the number of blocks of c in each pass of n locks.
func (r Race) turns(c Case, n int) int {
	if c.Lock.Remote != nil || !r.refers(result.Describe(c.Lock)) {
		return 1
	}
	return referenceTurns(n)
}

// referenceTurns returns the blocks of a reference. The ratios of all others have its error,
// which is least if it has the square root of their number. Source: C. Dunnett, "A Multiple
// Comparison Procedure for Comparing Several Treatments with a Control", JASA 50, 1955.
func referenceTurns(n int) int { return max(1, int(math.Round(math.Sqrt(float64(n-1))))) }

// passes returns the number of passes of each case of u, all without a race.
func (r Race) passes(u unit, all int) []int {
	out := slices.Repeat([]int{all}, len(u))
	var open []int
	for i, c := range u {
		if r.slow[c.Name()] < raceRounds {
			open = append(open, i)
			continue
		}
		out[i] = 1
	}
	for _, i := range open {
		out[i] += (all - 1) * (len(u) - len(open)) / len(open)
	}
	return out
}

// count adds a round: the results of one process.
func (r Race) count(round []*result.Result) {
	compete := slices.DeleteFunc(slices.Clone(round), func(x *result.Result) bool {
		return x.Blocks == nil || !x.Blocks.Valid() || !x.Lock.Status.Competes() || x.Lock.Traits.Permits > 1 || x.Lock.Traits.Needs != ""
	})
	if len(compete) == 0 {
		return
	}
	rate := func(x *result.Result) float64 { return float64(x.Ops) / float64(x.Elapsed) }
	rivals := slices.DeleteFunc(slices.Clone(compete), func(x *result.Result) bool { return !r.refers(x.Lock) })
	rivals = append(rivals, slices.MaxFunc(compete, func(a, b *result.Result) int { return cmp.Compare(rate(a), rate(b)) }))
	for _, x := range compete {
		name := "lock=" + x.Lock.Name + "/" + x.Workload.Name()
		if r.slow[name]++; slices.ContainsFunc(rivals, func(y *result.Result) bool { return !farSlowerThan(x, y) }) {
			delete(r.slow, name)
		}
	}
}

func farSlowerThan(x, y *result.Result) bool {
	ratios := x.Blocks.Ratios(y.Blocks, func(b *result.Blocks) []uint64 { return b.Ops })
	return len(ratios) > 0 && slices.Max(ratios) < farSlower
}
