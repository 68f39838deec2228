package stat

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// A Summary summarizes the rounds of one case.
type Summary struct {
	Median float64

	// Lo and Hi bound the median of the rounds' distribution with probability Confidence.
	Lo, Hi     float64
	Confidence float64

	N int // rounds with a figure

	// AtMost reports that the median is only a bound, below the clock's resolution.
	// Summarize leaves it false: only the metric can set it.
	AtMost bool
}

// Spread returns the greater distance from the median to a bound as its share, or NaN at 0.
func (s Summary) Spread() float64 {
	if s.Median == 0 {
		return math.NaN()
	}
	return max(s.Hi-s.Median, s.Median-s.Lo) / math.Abs(s.Median)
}

const level95 = 0.95

// Summarize returns the median of xs and the order-statistic interval of at least 95 %. With
// fewer than six values it is the least and the greatest, and Confidence their actual one. NaN
// values are left out; an empty summary is NaN with N 0.
func Summarize(xs []float64) Summary { return summarize(xs, level95) }

func summarize(xs []float64, level float64) Summary {
	sorted := sortedNumbers(xs)
	if len(sorted) == 0 {
		return Summary{Median: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
	}
	rank, confidence := medianRank(len(sorted), level)
	return between(sorted, rank, confidence)
}

// Median returns the middle of xs, or the mean of two, without NaN values; NaN without any.
func Median(xs []float64) float64 {
	return middle(sortedNumbers(xs))
}

func middle(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// MedianRatio returns the median of nonnegative ratios. Of two middle ones it is the geometric
// mean: their inverses have the inverse median, so ratios of equal cases stay symmetric around 1.
// Next to another ratio, 0 counts as 1/1000 and infinity as 1000.
func MedianRatio(ratios []float64) float64 {
	sorted := sortedNumbers(ratios)
	if len(sorted) == 0 {
		return math.NaN()
	}
	a, b := sorted[(len(sorted)-1)/2], sorted[len(sorted)/2]
	switch {
	case a == b:
		return a
	case a == 0:
		a = 1 / farthest
	}
	if math.IsInf(b, 1) {
		b = farthest
	}
	return math.Sqrt(a) * math.Sqrt(b)
}

// MidMean returns the mean of the middle half of xs: it ignores outliers, and uses more values
// than the median. NaN values are left out; without values it is NaN.
func MidMean(xs []float64) float64 {
	sorted := sortedNumbers(xs)
	quarter := len(sorted) / 4
	half := sorted[quarter : len(sorted)-quarter]
	if len(half) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, x := range half {
		sum += x / float64(len(half))
	}
	return sum
}

func between(sorted []float64, rank int, confidence float64) Summary {
	n := len(sorted)
	return Summary{
		Median:     middle(sorted),
		Lo:         sorted[rank-1],
		Hi:         sorted[n-rank],
		Confidence: confidence,
		N:          n,
	}
}

func sortedNumbers(xs []float64) []float64 {
	return slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(xs), math.IsNaN)))
}

// medianRank returns the greatest rank k such that the k-th least and greatest of n values
// enclose the median with probability of at least level, and that probability, else rank 1 and
// its.
//
// The number of values below the median is binomial with p = 1/2, so the interval misses with
// probability 2·P(X < k). Source: H. David, H. Nagaraja, "Order Statistics", 3rd ed. 2003,
// §7.1. The interval is symmetric in ranks and exact, unlike benchstat's.
func medianRank(n int, level float64) (rank int, confidence float64) {
	below := stats.BinomialDist{N: n, P: 0.5}
	reach := func(k int) float64 { return max(0, 1-2*below.CDF(float64(k-1))) }
	near := float64(n+1)/2 - math.Sqrt(float64(n)/2)*math.Erfinv(level)
	return lastRank((n+1)/2, int(near), level, reach)
}

// lastRank returns the greatest k, 1 <= k <= most, whose reach is at least level, and
// that reach; rank 1 without such a k. The reach falls with k; near is a guess.
func lastRank(most, near int, level float64, reach func(k int) float64) (rank int, confidence float64) {
	rank = min(max(near, 1), max(most, 1))
	confidence = reach(rank)
	for rank > 1 && confidence < level {
		rank--
		confidence = reach(rank)
	}
	for rank < most {
		next := reach(rank + 1)
		if next < level {
			break
		}
		rank, confidence = rank+1, next
	}
	return rank, confidence
}

// MinRounds is the fewest rounds with an interval of 95 %. The range of n rounds encloses the
// median with probability 1 - 2^(1-n).
const MinRounds = 6
