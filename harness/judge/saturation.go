package judge

import (
	"cmp"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"

	"locklab/harness"
	"locklab/harness/result"

	"locklab/internal/stat"
)

// A Load is the results of a lock at one rate of an open loop.
type Load struct {
	Rate harness.Rate
	Cell *Cell
}

// A Saturation is the saturation point of a lock, within the resolution of a run: between the
// greatest rate that the lock sustains and the next one. A lock sustains a rate if it
// grants 95 % of the offered rate, and p99 of the waits of all rounds together is at most
// ten times p99 at the least resolved rate.
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

// saturationDraws yields 200 resampled runs, or, if rounds are too few to vary, each round alone.
func saturationDraws(rounds []int) iter.Seq[[]int] {
	if len(rounds) < stat.MinRounds {
		return slices.Chunk(rounds, 1)
	}
	return draws(rounds, 200)
}

// SaturationOf returns the saturation point of a lock from its loads ls, ascending by rate; floor is the
// floor of the clock in ns. ok is false if the run resolves p99 at no rate.
func SaturationOf(ls []Load, floor float64) (k Saturation, ok bool) {
	var loads []saturationLoad
	seen := make(map[int]bool)
	for _, l := range ls {
		if l.Cell == nil {
			continue
		}
		loads = append(loads, newSaturationLoad(l))
		for _, round := range l.Cell.Order() {
			seen[round] = true
		}
	}
	rounds := slices.Sorted(maps.Keys(seen))
	if k, ok = saturationIn(loads, rounds, floor); !ok {
		return k, false
	}
	var froms, tos []harness.Rate
	for draw := range saturationDraws(rounds) {
		if again, ok := saturationIn(loads, draw, floor); ok {
			froms = append(froms, again.UpTo)
			tos = append(tos, cmp.Or(again.Over, beyondAll))
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

// saturationIn returns the saturation point in the rounds of draw, which may repeat.
func saturationIn(loads []saturationLoad, draw []int, floor float64) (k Saturation, ok bool) {
	for _, l := range loads {
		p99, resolved := l.p99(draw)
		p99 = max(p99, floor, 1)
		behind := l.behind(draw)
		if resolved && k.Rest == 0 {
			k.Rest, k.RestP99, ok = l.rate, p99, true
			k.Unsound = l.doubtful(draw)
		}
		switch {
		case behind:
			k.Over, k.Rule = l.rate, result.LimitGranted
			return k, ok
		case !resolved: // no information
		case p99 > result.MostSlowdown*k.RestP99:
			k.Over, k.Rule = l.rate, result.LimitP99
			return k, ok
		default:
			k.UpTo, k.P99 = l.rate, p99
		}
	}
	return k, ok
}

// A saturationLoad is the results of a lock at one rate, in a form that supports many draws of
// its rounds without merging their histograms.
type saturationLoad struct {
	rate    harness.Rate
	goodput map[int]float64 // by round, percent
	doubts  map[int]bool    // by round, whether the waits are due to the machine
	waits   map[int]int64   // by round, number of waits
	longest []longWait      // of all rounds, the longest first
}

type longWait struct {
	value, n int64
	round    int
}

func newSaturationLoad(l Load) saturationLoad {
	x := saturationLoad{rate: l.Rate, goodput: make(map[int]float64), doubts: make(map[int]bool), waits: make(map[int]int64)}
	for _, round := range l.Cell.Order() {
		r := l.Cell.Rounds[round]
		if v, ok := result.Goodput.Of(r); ok {
			x.goodput[round] = v
		}
		x.doubts[round] = slices.ContainsFunc(r.Warnings, func(w harness.Warning) bool { return w.Kind == "pool" || w.Kind == "pacing" })
		x.waits[round] = r.Wait.Count()
		for _, b := range r.Wait {
			x.longest = append(x.longest, longWait{b.Value, b.N, round})
		}
	}
	slices.SortFunc(x.longest, func(a, b longWait) int { return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.round, b.round)) })
	return x
}

func (l *saturationLoad) behind(draw []int) bool {
	var shares []float64
	for _, round := range draw {
		if v, ok := l.goodput[round]; ok {
			shares = append(shares, v)
		}
	}
	return len(shares) > 0 && !(stat.Median(shares) >= result.LeastGoodput)
}

func (l *saturationLoad) doubtful(draw []int) bool {
	n := 0
	for _, round := range draw {
		if l.doubts[round] {
			n++
		}
	}
	return 2*n > len(draw)
}

// p99 returns p99 of the combined waits of the rounds of draw, as harness.Histogram does,
// and whether there are enough samples.
func (l *saturationLoad) p99(draw []int) (float64, bool) {
	const q = 0.99
	times, total := make(map[int]int64), int64(0)
	for _, round := range draw {
		times[round]++
		total += l.waits[round]
	}
	if q > result.Resolved(total) {
		return 0, false
	}
	above := total / 100 // number of longer waits
	for _, b := range l.longest {
		if above -= b.n * times[b.round]; above < 0 {
			return float64(b.value), true
		}
	}
	return 0, false
}

// draws yields n random draws with replacement, determined by the number of rounds.
func draws(rounds []int, n int) iter.Seq[[]int] {
	rng := rand.New(rand.NewPCG(0x5ab1e, uint64(len(rounds))))
	return func(yield func([]int) bool) {
		for range n {
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
