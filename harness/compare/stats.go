package compare

import (
	"math"
	"slices"
	"sort"

	"golang.org/x/perf/benchmath"

	"locklab/harness/metric"
)

// An estimate is the ratio of two samples, and what speaks for it.
type estimate struct {
	ratio  metric.Summary
	p      float64 // that samples of equal cases would differ as much, not corrected
	enough bool    // the samples are large enough for the level
}

// unpaired estimates the ratio of two samples that have nothing in common, next
// to base. The ratio is the median of all next/base, and its interval, of at
// least the confidence level, is made of two of them: it holds the ratios that
// the Mann-Whitney test does not reject.
//
// Source: J. Hodges, E. Lehmann, "Estimates of Location Based on Rank Tests",
// Ann. Math. Statist. 34(2), 1963, on logarithms; the test is benchstat's.
func (d *deals) unpaired(base, next []float64, level float64) estimate {
	ratios := make([]float64, 0, len(base)*len(next))
	for _, x := range base {
		for _, y := range next {
			ratios = append(ratios, ratioOf(y, x))
		}
	}
	if len(ratios) == 0 {
		return estimate{ratio: metric.Summarize(nil), p: 1}
	}
	slices.Sort(ratios)
	rank, confidence := d.shiftRank(len(base), len(next), level)
	n := len(ratios)
	sample := func(xs []float64) *benchmath.Sample {
		return benchmath.NewSample(slices.Clone(xs), &benchmath.DefaultThresholds)
	}
	test := benchmath.AssumeNothing.Compare(sample(base), sample(next))
	return estimate{
		ratio: metric.Summary{
			Median: (ratios[(n-1)/2] + ratios[n/2]) / 2, Lo: ratios[rank-1], Hi: ratios[n-rank],
			Confidence: confidence, N: min(len(base), len(next)),
		},
		p:      min(1, test.P),
		enough: confidence >= level,
	}
}

// ratioOf returns y/x of figures that are 0 or more. Two zeros are equal.
func ratioOf(y, x float64) float64 {
	if x == y {
		return 1
	}
	return y / x
}

// deals keeps the distributions of U that were computed: the cases of a run have
// the same number of rounds. The zero value is ready.
type deals struct{ of map[[2]int][]float64 }

func (d *deals) distribution(m, n int) []float64 {
	if d.of == nil {
		d.of = make(map[[2]int][]float64)
	}
	at := [2]int{m, n}
	if d.of[at] == nil {
		d.of[at] = distributionU(m, n)
	}
	return d.of[at]
}

// shiftRank returns the greatest rank k, counted from 1, such that the k-th
// least and the k-th greatest of the m·n ratios of two samples enclose the true
// ratio with probability of at least level, and that probability. If no rank
// does, it returns rank 1 and what that reaches.
func (d *deals) shiftRank(m, n int, level float64) (rank int, confidence float64) {
	if max(m, n) > exactU {
		// The normal approximation, with the correction for continuity.
		mean, dev := float64(m*n)/2, math.Sqrt(float64(m*n*(m+n+1))/12)
		rank = max(1, int(mean-math.Sqrt2*math.Erfinv(level)*dev-0.5))
		return rank, math.Erf((mean - float64(rank) + 0.5) / dev / math.Sqrt2)
	}
	dist := d.distribution(m, n)
	rank, confidence = 1, max(0, 1-2*dist[0])
	below := 0.0 // P(U < k)
	for k := 1; k <= (m*n+1)/2; k++ {
		below += dist[k-1]
		if 1-2*below < level {
			break
		}
		rank, confidence = k, 1-2*below
	}
	return rank, confidence
}

// exactU is the greatest sample for which the distribution of U is computed.
// Beyond it the normal approximation is as good: benchmath has the same limit.
const exactU = 50

// distributionU returns the probability of each value of the Mann-Whitney
// statistic U, 0 to m·n, for samples of m and n from one distribution without
// ties. The greatest of all values is in the first sample with probability
// m/(m+n), and then exceeds all n of the second:
//
//	P(m, n, u) = m/(m+n) · P(m-1, n, u-n) + n/(m+n) · P(m, n-1, u)
//
// Source: H. Mann, D. Whitney, "On a Test of Whether one of Two Random Variables
// is Stochastically Larger than the Other", Ann. Math. Statist. 18(1), 1947.
func distributionU(m, n int) []float64 {
	row := make([][]float64, n+1) // of the samples of i and 0…n
	for j := range row {
		row[j] = []float64{1}
	}
	for i := 1; i <= m; i++ {
		for j := 1; j <= n; j++ {
			next := make([]float64, i*j+1)
			for u, p := range row[j] { // the greatest is in the first
				next[u+j] += float64(i) / float64(i+j) * p
			}
			for u, p := range row[j-1] {
				next[u] += float64(j) / float64(i+j) * p
			}
			row[j] = next
		}
	}
	return row[n]
}

// paired estimates the ratio next/base of samples that belong together by index,
// because the same disturbance was upon both. The interval is that of
// [metric.Compare]; p is of the sign test, whose inversion it is. Ties speak
// against a difference.
func paired(base, next []float64, level float64) estimate {
	c := metric.Compare(next, base, level)
	less, greater := 0, 0
	for i := range base {
		switch r := next[i] / base[i]; {
		case r < 1:
			less++
		case r > 1:
			greater++
		}
	}
	p := 1.0
	if c.N > 0 {
		p = min(1, 2*binomialHalf(c.N, c.N-max(less, greater)))
	}
	return estimate{ratio: c.Summary, p: p, enough: c.Enough()}
}

// binomialHalf returns the probability of at most k heads in n throws.
func binomialHalf(n, k int) (p float64) {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	for i := range k + 1 {
		p += math.Exp(lg(n) - lg(i) - lg(n-i) - float64(n)*math.Ln2)
	}
	return min(1, p)
}

// holm corrects ps, each of one comparison, for being read together: whoever
// takes those under alpha for differences is wrong about any of them with
// probability of at most alpha.
//
// Source: S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure",
// Scandinavian Journal of Statistics 6(2), 1979.
func holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return ps[order[a]] < ps[order[b]] })
	out := make([]float64, len(ps))
	least := 0.0
	for i, at := range order {
		least = max(least, min(1, float64(len(ps)-i)*ps[at]))
		out[at] = least
	}
	return out
}
