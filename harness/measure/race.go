package measure

import (
	"cmp"
	"slices"

	"locklab/harness"
)

// Limits of a race.
const (
	raceRounds = 3   // after which a lock may leave
	farSlower  = 0.5 // of the fastest lock's rate
)

// A race counts, by the name of the case, the latest rounds in a row in which a local lock was
// far slower than the fastest one in every pass of their process. A lock with raceRounds of them
// has left the race: in the next round it has one block and its window, and the others take its
// time for more blocks. The ratio of a round does not decide the number of its own blocks, so
// the error rate of the comparisons does not change.
type race map[string]int

// passes returns the number of passes of each case of u.
func (r race) passes(u unit) []int {
	all := passes(u[0].Workload, u[0].Lock.Remote != nil)
	out := slices.Repeat([]int{all}, len(u))
	var open []int
	for i, c := range u {
		if r[c.Name()] < raceRounds {
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

// count adds a round: the results of one process. Locks for which stays is true never leave.
func (r race) count(round []*harness.Result, stays func(harness.Lock) bool) {
	compete := slices.DeleteFunc(slices.Clone(round), func(x *harness.Result) bool {
		return x.Blocks == nil || !x.Lock.Status.Competes() || x.Lock.Traits.Permits > 1 || x.Lock.Traits.Needs != ""
	})
	if len(compete) == 0 {
		return
	}
	rate := func(x *harness.Result) float64 { return float64(x.Ops) / float64(x.Elapsed) }
	ops := func(b *harness.Blocks) []uint64 { return b.Ops }
	fastest := slices.MaxFunc(compete, func(a, b *harness.Result) int { return cmp.Compare(rate(a), rate(b)) })
	for _, x := range compete {
		name := "lock=" + x.Lock.Name + "/" + x.Workload.Name()
		if r[name]++; stays(x.Lock) || slices.Max(x.Blocks.Ratios(fastest.Blocks, ops)) >= farSlower {
			delete(r, name)
		}
	}
}
