package stat

import (
	"cmp"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// A Ratio is how many times as great the figures of one case are as another's.
type Ratio struct {
	Summary         // of the ratios
	Level   float64 // the requested confidence

	// P is the probability that samples of equal cases would differ as much, by the test whose
	// inversion is the interval: 1 without a pair, and not corrected for other comparisons,
	// see [Holm].
	P float64

	mean, variance float64 // of the logarithms; see Paired
}

// Enough reports whether there were enough rounds for the level.
func (r Ratio) Enough() bool { return r.N > 0 && r.Confidence >= r.Level }

// Greater reports whether the ratio is significantly above 1 at the level.
func (r Ratio) Greater() bool { return r.Enough() && r.Lo > 1 }

// Less reports whether the ratio is significantly below 1 at the level.
func (r Ratio) Less() bool { return r.Enough() && r.Hi < 1 }

// Paired returns the ratio a/b of nonnegative figures of two cases measured in the same
// rounds. Figures are paired by index, so a disturbance of a round cancels. Median is of one
// ratio per round; the interval and P are from Student's t-test of the logarithms of the ratios.
// With fewer than [MinRounds] pairs the interval is the range, and Enough is false. Pairs with a
// NaN, or of two zeros, are left out. level is the [Level] of comparisons read together.
//
// Equal cases have ratios that lie symmetrically around 1, whatever the machine does; then the
// test errs in at most the given share of cases, and less often if some rounds are far out.
//
// Source: Student, "The Probable Error of a Mean", Biometrika 6(1), 1908; B. Efron, "Student's
// t-Test under Symmetry Conditions", JASA 64, 1969.
func Paired(a, b []float64, level float64) Ratio {
	var ratios, logs []float64
	for i := range min(len(a), len(b)) {
		if x := a[i] / b[i]; !math.IsNaN(x) {
			ratios, logs = append(ratios, x), append(logs, math.Log(min(max(x, 1/farthest), farthest)))
		}
	}
	r := Ratio{Summary: summarize(ratios, level), Level: level, P: 1}
	if r.Confidence = 0; r.N < MinRounds {
		return r
	}
	r.mean, r.variance = stats.Mean(logs), max(0, stats.Variance(logs)) // of equal logs it may be -1e-32
	return r.infer(r.variance, float64(r.N-1))
}

// infer returns r with the interval and P of a t-test with that variance and its degrees of
// freedom.
func (r Ratio) infer(variance, degrees float64) Ratio {
	spread, t := math.Sqrt(variance/float64(r.N)), stats.TDist{V: degrees}
	reach := spread * stats.InvCDF(t)((1+r.Level)/2)
	r.Confidence = r.Level
	r.Lo, r.Hi = min(r.Median, math.Exp(r.mean-reach)), max(r.Median, math.Exp(r.mean+reach))
	switch {
	case spread > 0:
		r.P = min(1, 2*(1-t.CDF(math.Abs(r.mean)/spread)))
	case r.mean != 0:
		r.P = 0
	}
	return r
}

// steady is the variance below which ratios differ by rounding at most.
const steady = 1e-12

// Moderate returns rs, the [Paired] ratios of several cases to one, with variances that borrow
// from each other: each is a mean with the typical variance, which has as many degrees of
// freedom as the variances are alike, but no more than their own. So few rounds with luckily
// or unluckily small noise mislead less. Fewer than four ratios remain as they are.
//
// Source: G. Smyth, "Linear Models and Empirical Bayes Methods for Assessing Differential
// Expression in Microarray Experiments", Statistical Applications in Genetics and Molecular
// Biology 3(1), 2004. With d degrees and u = 2/d, the logarithm of a variance has about mean
// -u/2 - u²/12 and variance u + u²/2.
func Moderate(rs []Ratio) []Ratio {
	mean := func(u float64) float64 { return -u/2 - u*u/12 }
	var logs []float64
	sampling := 0.0 // sum of the variances of logs that even equal noises would have
	for _, r := range rs {
		if u := 2 / float64(r.N-1); r.variance > steady {
			logs, sampling = append(logs, math.Log(r.variance)-mean(u)), sampling+u+u*u/2
		}
	}
	if len(logs) < 4 {
		return rs
	}
	excess := max(0, stats.Variance(logs)-sampling/float64(len(logs)))
	u := math.Sqrt(1+2*excess) - 1
	typical := math.Exp(stats.Mean(logs) + mean(u))
	out := slices.Clone(rs)
	for i, r := range rs {
		if own := float64(r.N - 1); r.variance > steady {
			more := min(own, 2/u)
			out[i] = r.infer((own*r.variance+more*typical)/(own+more), own+more)
		}
	}
	return out
}

// farthest is the greatest ratio in the t-test; it bounds the effect of a round with no figure.
const farthest = 1000.0

// Holm corrects ps, each the P of one comparison, for being read together. Taking those under
// alpha for differences is wrong about any of them with probability of at most alpha.
//
// Source: S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure",
// Scandinavian Journal of Statistics 6(2), 1979.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	out := make([]float64, len(ps))
	least := 0.0
	for i, at := range order {
		least = max(least, min(1, float64(len(ps)-i)*ps[at]))
		out[at] = least
	}
	return out
}

// Pairs returns the number of pairs of n cases. It is the family of the comparisons with
// a leader that the same rounds choose.
func Pairs(n int) int { return n * (n - 1) / 2 }

// Level returns the confidence that each comparison needs so that all hold together with 95 %,
// for any dependence (Bonferroni). Fewer than one count as one.
//
// Source: C. Bonferroni, "Teoria statistica delle classi e calcolo delle probabilità", 1936;
// O. Dunn, "Multiple Comparisons among Means", JASA 56, 1961.
func Level(comparisons int) float64 { return 1 - (1-level95)/float64(max(1, comparisons)) }

// DefaultTolerance is the tolerance for rates and costs, as a share. Two builds of one lock can
// differ by 5 % because of their layout in memory (C. Curtsinger, E. Berger, "Stabilizer",
// ASPLOS 2013; T. Mytkowicz et al., "Producing Wrong Data Without Doing Anything Obviously
// Wrong!", ASPLOS 2009), so a smaller difference may be no property of the lock.
const DefaultTolerance = 0.05

// MaxTolerance is the greatest meaningful tolerance: a factor of ten more.
const MaxTolerance = 10

// Inverse returns the inverse ratio; its median is not exactly the median of the inverses.
func (r Ratio) Inverse() Ratio {
	r.Median, r.Lo, r.Hi = 1/r.Median, 1/r.Hi, 1/r.Lo
	return r
}

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
	a, b = sortedNumbers(a), sortedNumbers(b)
	if len(a) == 0 || len(b) == 0 {
		return Ratio{Summary: summarize(nil, level), Level: level, P: 1}
	}
	ratios := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			ratios = append(ratios, quotient(x, y))
		}
	}
	slices.Sort(ratios)
	rank, confidence := ratioRank(len(a), len(b), level)
	r := Ratio{Summary: between(ratios, rank, confidence), Level: level, P: 1}
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
