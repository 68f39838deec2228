package stat

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// Unpaired returns the ratio a/b of nonnegative figures of two cases measured separately, on
// two machines or days: nothing cancels, unlike with [Paired].
//
// The median is of the ratios of every round of a to every round of b. Its bounds are the
// ratios whose ranks the test of Mann and Whitney allows; P is from that test, two-sided. It
// assumes equal distributions except for the factor. N is the smaller number of rounds.
//
// Source: J. Hodges, E. Lehmann, "Estimates of Location Based on Rank Tests", Annals of
// Mathematical Statistics 34(2), 1963, on logarithms; H. Mann, D. Whitney, "On a Test of
// Whether one of Two Random Variables is Stochastically Larger than the Other", same journal
// 18(1), 1947.
func Unpaired(a, b []float64, level float64) Ratio {
	a, b = numbers(a), numbers(b)
	if len(a) == 0 || len(b) == 0 {
		return Ratio{summarize(nil, level), level, 1}
	}
	ratios := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			ratios = append(ratios, quotient(x, y))
		}
	}
	slices.Sort(ratios)
	rank, confidence := ratioRank(len(a), len(b), level)
	r := Ratio{between(ratios, rank, confidence), level, 1}
	r.N = min(len(a), len(b))
	if test, err := stats.MannWhitneyUTest(a, b, stats.LocationDiffers); err == nil { // otherwise all are equal
		r.P = min(1, test.P)
	}
	return r
}

func quotient(x, y float64) float64 {
	if x == y {
		return 1
	}
	return x / y
}

// MinUnpaired returns the fewest rounds of each of two cases with an [Unpaired] interval of at
// least level, 0 < level < 1; n and n rounds reach 1 - 2 / (2n over n).
func MinUnpaired(level float64) int {
	n := 1
	for _, confidence := ratioRank(n, n, level); confidence < level; _, confidence = ratioRank(n, n, level) {
		n++
	}
	return n
}

// ratioRank returns the greatest rank k, counted from 1, such that the k-th least and the k-th
// greatest of the ratios of m to n values enclose their factor with probability of at least
// level, and that probability. If no rank does, it returns rank 1 and its probability.
//
// The number of ratios below the factor is distributed as Mann and Whitney's U, so the
// interval misses with probability 2·P(U < k). As in the test, that is exact up to
// [stats.MannWhitneyExactLimit] values and normal, with the correction for continuity, above.
func ratioRank(m, n int, level float64) (rank int, confidence float64) {
	mean, dev := float64(m*n)/2, math.Sqrt(float64(m)*float64(n)*float64(m+n+1)/12)
	near := int(mean + 0.5 - math.Sqrt2*math.Erfinv(level)*dev)
	reach := func(k int) float64 { return math.Erf((mean + 0.5 - float64(k)) / dev / math.Sqrt2) }
	if max(m, n) <= stats.MannWhitneyExactLimit {
		u := stats.UDist{N1: m, N2: n}
		reach = func(k int) float64 { return max(0, 1-2*u.CDF(float64(k-1))) }
	}
	return lastRank((m*n+1)/2, near, level, reach)
}
