package stat

import "github.com/aclements/go-moremath/stats"

// A Ratio is how many times as great the figures of one case are as another's.
type Ratio struct {
	Summary         // of the ratios
	Level   float64 // the requested confidence

	// P is the probability that samples of equal cases would differ as much, by the test whose
	// inversion is the interval: 1 without a pair, and not corrected for other comparisons,
	// see [Holm].
	P float64
}

// Enough reports whether there were enough rounds for the level.
func (r Ratio) Enough() bool { return r.N > 0 && r.Confidence >= r.Level }

// Greater reports whether the ratio is significantly above 1 at the level.
func (r Ratio) Greater() bool { return r.Enough() && r.Lo > 1 }

// Less reports whether the ratio is significantly below 1 at the level.
func (r Ratio) Less() bool { return r.Enough() && r.Hi < 1 }

// Paired returns the ratio a/b of nonnegative figures of two cases measured in the same
// rounds. Figures are paired by index, so a disturbance of a round cancels. Median and
// interval are of one ratio per round; P is from the sign test. Pairs with a NaN, or of two
// zeros, are left out; equal pairs count against a difference. level is the [Level] of
// comparisons read together.
func Paired(a, b []float64, level float64) Ratio {
	ratios := make([]float64, min(len(a), len(b)))
	less, greater := 0, 0
	for i := range ratios {
		ratios[i] = a[i] / b[i]
		switch {
		case ratios[i] < 1:
			less++
		case ratios[i] > 1:
			greater++
		}
	}
	r := Ratio{summarize(ratios, level), level, 1}
	if r.N > 0 {
		fewer := stats.BinomialDist{N: r.N, P: 0.5}.CDF(float64(r.N - max(less, greater)))
		r.P = min(1, 2*fewer)
	}
	return r
}
