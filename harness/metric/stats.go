package metric

import (
	"math"
	"slices"
)

// A Summary is what the rounds of one case say together.
type Summary struct {
	Median float64

	// Lo and Hi bound the median of the distribution that the rounds are drawn
	// from, with probability Confidence, whatever that distribution is.
	Lo, Hi     float64
	Confidence float64

	N int // rounds that gave a figure

	// AtMost says that the median is only a bound: the clock cannot tell what
	// is below. Only [Metric.Summary] sets it.
	AtMost bool
}

// Spread returns the greater distance from the median to a bound as a share of
// the median, as benchstat's ± column does; NaN if there is no such share.
func (s Summary) Spread() float64 {
	if s.Median == 0 {
		return math.NaN()
	}
	return max(s.Hi-s.Median, s.Median-s.Lo) / math.Abs(s.Median)
}

// level95 is the confidence of every interval that is not a comparison.
const level95 = 0.95

// Summarize returns the median of xs and the order-statistic interval of at
// least 95 % around it. With fewer than six values there is no such interval:
// Lo and Hi are then the least and the greatest value, and Confidence says
// what they are worth. Values that are NaN are left out; an empty summary is
// NaN with N 0.
func Summarize(xs []float64) Summary { return summarize(xs, level95) }

func summarize(xs []float64, level float64) Summary {
	sorted := slices.DeleteFunc(slices.Clone(xs), math.IsNaN)
	n := len(sorted)
	if n == 0 {
		return Summary{Median: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
	}
	slices.Sort(sorted)
	rank, confidence := medianRank(n, level)
	return Summary{
		Median:     (sorted[(n-1)/2] + sorted[n/2]) / 2,
		Lo:         sorted[rank-1],
		Hi:         sorted[n-rank],
		Confidence: confidence,
		N:          n,
	}
}

// medianRank returns the greatest rank k, counted from 1, such that the k-th
// least and the k-th greatest of n values enclose the median with probability
// of at least level, and that probability. If no rank does, it returns rank 1
// and what that reaches.
//
// The number of values below the median is binomial with p = 1/2, so the
// interval misses with probability 2·P(X < k). Source: H. David, H. Nagaraja,
// "Order Statistics", 3rd ed. 2003, §7.1. The interval is symmetric in ranks;
// that of benchstat drops one end where the level allows it (not at 10 rounds).
func medianRank(n int, level float64) (rank int, confidence float64) {
	rank, confidence = 1, max(0, 1-2*math.Pow(0.5, float64(n)))
	below := 0.0 // P(X < k)
	for k := 1; k <= (n+1)/2; k++ {
		below += math.Exp(logChoose(n, k-1) - float64(n)*math.Ln2)
		if 1-2*below < level {
			break
		}
		rank, confidence = k, 1-2*below
	}
	return rank, confidence
}

// logChoose returns the natural logarithm of n over k.
func logChoose(n, k int) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	return lg(n) - lg(k) - lg(n-k)
}

// MinRounds returns the fewest rounds whose whole range encloses the median
// with probability of at least level, 0 < level < 1: the widest interval of n
// rounds reaches 1 - 2^(1-n).
func MinRounds(level float64) int {
	n := 1
	for 1-math.Pow(2, float64(1-n)) < level {
		n++
	}
	return n
}

// SturdyRounds returns the fewest rounds whose interval at level stands one bad
// round in ten: as many of the ratios may be anything, and its bounds stay among
// the others. With [MinRounds] a single one moves a bound to wherever it is.
func SturdyRounds(level float64) int {
	for n := MinRounds(level); ; n++ {
		if rank, _ := medianRank(n, level); 10*(rank-1) >= n {
			return n
		}
	}
}

// A Comparison is the ratio of two cases that were measured in the same
// rounds. What disturbs a whole round disturbs both, and cancels.
type Comparison struct {
	Summary         // of the per-round ratios
	Level   float64 // the confidence that was asked for
}

// Compare returns the ratio a/b of figures that are 0 or more, paired by
// index, with an interval of at least the confidence level where there are
// enough rounds. Pairs with a NaN, and pairs of two zeros, are left out.
//
// When several comparisons are read together, level is their [Level], so that
// the chance of any false difference among them stays under 5 %.
func Compare(a, b []float64, level float64) Comparison {
	ratios := make([]float64, min(len(a), len(b)))
	for i := range ratios {
		ratios[i] = a[i] / b[i]
	}
	return Comparison{summarize(ratios, level), level}
}

// Enough reports whether there were enough rounds for the level.
func (c Comparison) Enough() bool { return c.N > 0 && c.Confidence >= c.Level }

// Greater reports whether a is greater than b beyond doubt at the level.
func (c Comparison) Greater() bool { return c.Enough() && c.Lo > 1 }

// Less reports whether a is less than b beyond doubt at the level.
func (c Comparison) Less() bool { return c.Enough() && c.Hi < 1 }
