package stat

import "github.com/aclements/go-moremath/stats"

// A Ratio is how many times as great the figures of one case are as those of
// another.
type Ratio struct {
	Summary         // of the ratios
	Level   float64 // the confidence that was asked for

	// P is the probability that samples of equal cases would differ as much, by the
	// test of which the interval is the inversion: at 1 - Level it rejects if and
	// only if the interval leaves 1 out, where no figures are equal. It is not
	// corrected for other comparisons, see [Holm]. It is 1 if there is no pair.
	P float64
}

// Enough reports whether there were enough rounds for the level.
func (r Ratio) Enough() bool { return r.N > 0 && r.Confidence >= r.Level }

// Greater reports whether the ratio is above 1 beyond doubt at the level.
func (r Ratio) Greater() bool { return r.Enough() && r.Lo > 1 }

// Less reports whether the ratio is below 1 beyond doubt at the level.
func (r Ratio) Less() bool { return r.Enough() && r.Hi < 1 }

// Paired returns the ratio a/b of figures that are 0 or more, of two cases that
// were measured in the same rounds: the figures belong together by index, and
// what disturbs a whole round disturbs both and cancels. Its median and interval
// are those of one ratio a round; P is that of the sign test. Pairs with a NaN,
// and pairs of two zeros, are left out; pairs that are equal speak against a
// difference.
//
// When several comparisons are read together, level is their [Level], so that
// the chance of any false difference among them stays under 5 %.
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
