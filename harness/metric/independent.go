package metric

import (
	"math"
	"slices"
)

// CompareIndependent returns the ratio a/b of figures that are 0 or more, of two
// cases that were measured apart: on two machines, or on two days. No round of
// the one belongs to a round of the other, so nothing cancels, and the ratio is
// less certain than that of [Compare].
//
// The median is that of the ratios of every round of a to every round of b. Its
// bounds are those ratios whose ranks the test of Mann and Whitney allows: the
// interval leaves 1 out if and only if that test, two-sided, tells the cases
// apart at 1 - level. It assumes that the figures of the two cases are
// distributed alike but for the factor. N is the smaller number of rounds.
//
// Source: J. Hodges, E. Lehmann, "Estimates of Location Based on Rank Tests",
// Annals of Mathematical Statistics 34(2), 1963, on logarithms; H. Mann,
// D. Whitney, "On a Test of Whether one of Two Random Variables is
// Stochastically Larger than the Other", same journal 18(1), 1947.
func CompareIndependent(a, b []float64, level float64) Comparison {
	a, b = slices.DeleteFunc(slices.Clone(a), math.IsNaN), slices.DeleteFunc(slices.Clone(b), math.IsNaN)
	if len(a) == 0 || len(b) == 0 {
		return Comparison{summarize(nil, level), level}
	}
	ratios := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			r := x / y
			if x == y {
				r = 1 // also of two zeros, and of two infinities
			}
			ratios = append(ratios, r)
		}
	}
	slices.Sort(ratios)
	n := len(ratios)
	rank, confidence := ratioRank(len(a), len(b), level)
	return Comparison{Summary{
		Median:     (ratios[(n-1)/2] + ratios[n/2]) / 2,
		Lo:         ratios[rank-1],
		Hi:         ratios[n-rank],
		Confidence: confidence,
		N:          min(len(a), len(b)),
	}, level}
}

// MinIndependent returns the fewest rounds of each of two cases for which
// [CompareIndependent] has an interval of at least level, 0 < level < 1: the
// widest one of n and n rounds reaches 1 - 2 / (2n over n).
func MinIndependent(level float64) int {
	n := 1
	for 1-2*math.Exp(-logChoose(2*n, n)) < level {
		n++
	}
	return n
}

// mostExact is up to how many ratios the ranks are exact; beyond, the normal
// approximation of Mann and Whitney is off by less than a rank in a hundred.
const mostExact = 900

// ratioRank returns the greatest rank k, counted from 1, such that the k-th
// least and the k-th greatest of the ratios of m to n values enclose their
// factor with probability of at least level, and that probability. If no rank
// does, it returns rank 1 and what that reaches.
//
// The number of ratios below the factor is distributed as Mann and Whitney's U,
// so the interval misses with probability 2·P(U < k).
func ratioRank(m, n int, level float64) (rank int, confidence float64) {
	if m*n > mostExact {
		mean, dev := float64(m*n)/2, math.Sqrt(float64(m)*float64(n)*float64(m+n+1)/12)
		reach := func(k int) float64 { return math.Erf((mean + 0.5 - float64(k)) / dev / math.Sqrt2) }
		k := 1
		for reach(k+1) >= level && k+1 <= m*n/2 {
			k++
		}
		return k, reach(k)
	}
	us := mannWhitney(m, n)
	rank, confidence = 1, max(0, 1-2*us[0])
	below := 0.0 // P(U < k)
	for k := 1; k <= (m*n+1)/2; k++ {
		below += us[k-1]
		if 1-2*below < level {
			break
		}
		rank, confidence = k, 1-2*below
	}
	return rank, confidence
}

// mannWhitney returns the probability of each value of U for samples of m and n
// from one distribution: by the recurrence of Mann and Whitney, on whether the
// greatest value is of the one sample or of the other.
func mannWhitney(m, n int) []float64 {
	// rows[j][u] is the probability of u for i and j values.
	rows := make([][]float64, n+1)
	for j := range rows {
		rows[j] = make([]float64, m*n+1)
		rows[j][0] = 1 // i = 0
	}
	for i := 1; i <= m; i++ {
		for j := 1; j <= n; j++ {
			share := float64(i) / float64(i+j)
			for u := i * j; u >= 0; u-- {
				p := (1 - share) * rows[j-1][u]
				if u >= j {
					p += share * rows[j][u-j]
				}
				rows[j][u] = p
			}
		}
	}
	return rows[n]
}
