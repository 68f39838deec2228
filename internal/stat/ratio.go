package stat

import (
	"math"

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
	r := Ratio{summarize(ratios, level), level, 1}
	if r.Confidence = 0; r.N < MinRounds {
		return r
	}
	mean := stats.Mean(logs)
	spread := math.Sqrt(max(0, stats.Variance(logs)) / float64(r.N)) // of equal logs it may be -1e-32
	t := stats.TDist{V: float64(r.N - 1)}
	reach := spread * stats.InvCDF(t)((1+level)/2)
	r.Confidence = level
	r.Lo, r.Hi = min(r.Median, math.Exp(mean-reach)), max(r.Median, math.Exp(mean+reach))
	switch {
	case spread > 0:
		r.P = min(1, 2*(1-t.CDF(math.Abs(mean)/spread)))
	case mean != 0:
		r.P = 0
	}
	return r
}

// farthest is the greatest ratio in the t-test; it bounds the effect of a round with no figure.
const farthest = 1000.0
