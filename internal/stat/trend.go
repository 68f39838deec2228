package stat

import (
	"math"
	"slices"
)

// A Trend describes whether consecutive values rise or fall overall.
type Trend struct {
	N int // values

	// P is the probability that values in random order would rise or fall as clearly.
	P float64

	// Change is the rise of the line through the values from the first to the last:
	// the median slope of all pairs times the steps. It is negative if they fall.
	Change float64
}

// FindTrend tests xs, which are not NaN, for a trend. The test of Mann and Kendall counts
// the pairs in rising order and assumes nothing about the distribution. Its P is exact if
// no two values are equal and conservative otherwise. The slope is Theil and Sen's.
//
// Sources: H. Mann, "Nonparametric Tests Against Trend", Econometrica 13, 1945; M.
// Kendall, "Rank Correlation Methods", 1948; P. Sen, "Estimates of the Regression
// Coefficient Based on Kendall's Tau", JASA 63, 1968.
func FindTrend(xs []float64) Trend {
	t := Trend{N: len(xs), P: 1}
	if t.N < 2 {
		return t
	}
	score := 0
	var slopes []float64
	for j := range xs {
		for i := range j {
			switch {
			case xs[j] > xs[i]:
				score++
			case xs[j] < xs[i]:
				score--
			}
			slopes = append(slopes, (xs[j]-xs[i])/float64(j-i))
		}
	}
	slices.Sort(slopes)
	t.Change = middle(slopes) * float64(t.N-1)
	t.P = kendall(t.N, score)
	return t
}

// exactTrend is the most values with an exact P; above, the normal distribution is close.
const exactTrend = 60

// kendall returns the probability that the rising pairs of n values in random order
// exceed the falling ones, or the reverse, by at least score.
func kendall(n, score int) float64 {
	score = max(score, -score)
	if n > exactTrend {
		m := float64(n)
		deviation := math.Sqrt(m * (m - 1) * (2*m + 5) / 18)
		return min(1, math.Erfc(float64(max(0, score-1))/deviation/math.Sqrt2))
	}
	// shares[k] is the share of orders with k falling pairs: value i is inserted anywhere.
	shares := []float64{1}
	for i := 2; i <= n; i++ {
		next := make([]float64, len(shares)+i-1)
		for k, s := range shares {
			for before := range i {
				next[k+before] += s / float64(i)
			}
		}
		shares = next
	}
	p, pairs := 0.0, n*(n-1)/2
	for falling, s := range shares {
		if d := pairs - 2*falling; max(d, -d) >= score {
			p += s
		}
	}
	return min(1, p)
}
