package judge

import (
	"cmp"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/stat"
)

// A Load is the results of a lock at one rate of an open loop.
type Load struct {
	Rate harness.Rate
	Cell *Cell
}

// A Saturation is the saturation point of a lock, within the resolution of a run: between the
// greatest rate that the lock sustains and the next one. A lock sustains a rate if it
// is [result.Behind] in fewer than half of the rounds, and p99 of the waits of all rounds
// together is at most ten times p99 at the least resolved rate.
type Saturation struct {
	UpTo harness.Rate // 0 if even the least resolved rate is too high
	Over harness.Rate // the next resolved rate; 0 if the lock sustains all rates of the run
	Rule result.Limit // exceeded at Over

	// From and To contain the saturation point in 95 % of resampled runs, or in each round
	// alone if there are fewer than six. They are the least UpTo and the greatest Over, 0
	// as there.
	From, To harness.Rate

	Rest    harness.Rate // the least rate at which the run resolves p99
	RestP99 float64      // there, ns
	P99     float64      // at UpTo, ns

	// Unsound means that the waits at Rest are due to the machine, not the lock: in most
	// rounds the loop there was closed or late, by the warnings of the results. Ten times
	// such a p99 is too long a limit.
	Unsound bool
}

// SaturationOf returns the saturation point of a lock from its loads ls, ascending by rate; floor is the
// floor of the clock in ns. ok is false if the run resolves p99 at no rate.
func SaturationOf(ls []Load, floor float64) (k Saturation, ok bool) {
	ls = slices.DeleteFunc(slices.Clone(ls), func(l Load) bool { return l.Cell == nil })
	seen := make(map[int]bool)
	for _, l := range ls {
		for round := range l.Cell.Rounds {
			seen[round] = true
		}
	}
	rounds := slices.Sorted(maps.Keys(seen))
	if k, ok = saturationIn(ls, rounds, floor); !ok {
		return k, false
	}
	var froms, tos []harness.Rate
	for draw := range saturationDraws(rounds) {
		if again, ok := saturationIn(ls, draw, floor); ok {
			froms, tos = append(froms, again.UpTo), append(tos, cmp.Or(again.Over, beyondAll))
		}
	}
	k.From, k.To = k.UpTo, k.Over
	if n := len(froms); n > 0 {
		slices.Sort(froms)
		slices.Sort(tos)
		out := n / 40 // on each side
		k.From = min(k.UpTo, froms[out])
		if k.To = max(cmp.Or(k.Over, beyondAll), tos[n-1-out]); k.To == beyondAll {
			k.To = 0
		}
	}
	return k, true
}

// beyondAll stands for a saturation point above all rates of a run.
const beyondAll = 10 * harness.MaxRate

// saturationDraws yields 120 random draws of rounds with replacement, or, if rounds are too few to
// vary, each round alone.
func saturationDraws(rounds []int) iter.Seq[[]int] {
	if len(rounds) < stat.MinRounds {
		return slices.Chunk(rounds, 1)
	}
	rng := rand.New(rand.NewPCG(0x5ab1e, uint64(len(rounds))))
	return func(yield func([]int) bool) {
		for range 120 {
			draw := make([]int, len(rounds))
			for i := range draw {
				draw[i] = rounds[rng.IntN(len(rounds))]
			}
			if !yield(draw) {
				return
			}
		}
	}
}

// saturationIn returns the saturation point in the rounds of draw, which may repeat.
func saturationIn(ls []Load, draw []int, floor float64) (k Saturation, ok bool) {
	for _, l := range ls {
		var waits result.Histogram
		rounds, behind := 0, 0
		doubts := 0 // rounds whose waits are due to the machine
		for _, round := range draw {
			r := l.Cell.Rounds[round]
			if r == nil {
				continue
			}
			waits = waits.Merge(r.Wait)
			rounds++
			if result.Behind(r) {
				behind++
			}
			if slices.ContainsFunc(r.Warnings, func(w machine.Warning) bool { return w.Kind == "pool" || w.Kind == "pacing" }) {
				doubts++
			}
		}
		p99, resolved := result.Quantile(waits, 0.99)
		p99 = max(p99, floor, 1)
		if resolved && k.Rest == 0 {
			k.Rest, k.RestP99, ok = l.Rate, p99, true
			k.Unsound = 2*doubts > len(draw)
		}
		switch {
		case behind > 0 && 2*behind >= rounds:
			k.Over, k.Rule = l.Rate, result.LimitGranted
			return k, ok
		case !resolved: // no information
		case p99 > result.MostSlowdown*k.RestP99:
			k.Over, k.Rule = l.Rate, result.LimitP99
			return k, ok
		default:
			k.UpTo, k.P99 = l.Rate, p99
		}
	}
	return k, ok
}
