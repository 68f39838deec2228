package measure

import (
	"cmp"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"

	"locklab/harness/result"
	"locklab/internal/stat"
)

// Limits of a race.
const (
	raceRounds = 3   // after which a lock may leave
	farSlower  = 0.5 // of the other lock's rate

	// noisy is the deviation of the logarithms of a lock's ratios with which a table of eleven
	// rounds misses a lock at 0.8 of the rate in over 2 % of runs, approximately.
	noisy = 0.13
)

// A Race finds local locks that are far slower than the fastest one and all references in every
// pass of their process. After raceRounds such rounds in a row a lock has one block and its
// window in the next, and the others take its time for more blocks. The ratio of a round does not
// decide the number of its own blocks, so the error rate of the comparisons does not change.
//
// If the run has time left, a process whose typical lock is noisy measures twice the passes.
// Ratios of equal locks vary alike on both sides of 1, so their variance predicts no difference.
type Race struct {
	// Reference, if not nil, reports whether others are compared with a lock: it takes part in
	// all passes, and a local one has more blocks.
	Reference func(result.Lock) bool

	seen  map[string]*racer // by case
	spare bool              // the run has time left
}

// A racer is a case of a race, with the figures of its rounds.
type racer struct {
	slow   int       // the latest rounds in a row in which it was far slower
	ratios []float64 // logarithms of its ratios to the first reference, by round
}

func (r Race) refers(l result.Lock) bool { return r.Reference != nil && r.Reference(l) }

// blocks returns the number of blocks of c in each pass of n locks.
func (r Race) blocks(c Case, n int) int {
	if c.Lock.Remote != nil || !r.refers(result.Describe(c.Lock)) {
		return 1
	}
	return referenceBlocks(n)
}

// referenceBlocks returns the blocks of a reference. The ratios of all others have its error,
// which is least if it has the square root of their number. Source: C. Dunnett, "A Multiple
// Comparison Procedure for Comparing Several Treatments with a Control", JASA 50, 1955.
func referenceBlocks(n int) int { return max(1, int(math.Round(math.Sqrt(float64(n-1))))) }

// passes returns the number of passes of each case of u, all without a race.
func (r Race) passes(u unit, all int) []int {
	if r.spare && r.isNoisy(u) {
		all *= 2
	}
	out := slices.Repeat([]int{all}, len(u))
	var open []int
	for i, c := range u {
		if x := r.seen[c.Name()]; x == nil || x.slow < raceRounds {
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

// isNoisy reports whether the typical lock of u is noisy.
func (r Race) isNoisy(u unit) bool {
	var spreads []float64
	for _, c := range u {
		if x := r.seen[c.Name()]; x != nil && len(x.ratios) >= raceRounds {
			spreads = append(spreads, stats.StdDev(x.ratios))
		}
	}
	return stat.Median(spreads) >= noisy
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
		if r.seen[name] == nil {
			r.seen[name] = new(racer)
		}
		at := r.seen[name]
		if at.slow++; slices.ContainsFunc(rivals, func(y *result.Result) bool { return !farSlowerThan(x, y) }) {
			at.slow = 0
		}
		if ratio := stat.MedianRatio(ratesTo(x, rivals[0])); x != rivals[0] && ratio > 0 && !math.IsInf(ratio, 1) {
			at.ratios = append(at.ratios, math.Log(ratio))
		}
	}
}

// ratesTo returns the ratios of the blocks of x to those of y in the same pass.
func ratesTo(x, y *result.Result) []float64 {
	return x.Blocks.Ratios(y.Blocks, func(b *result.Blocks) []uint64 { return b.Ops })
}

func farSlowerThan(x, y *result.Result) bool {
	ratios := ratesTo(x, y)
	return len(ratios) > 0 && slices.Max(ratios) < farSlower
}
