package stat

import (
	"math"

	"github.com/aclements/go-moremath/mathx"
)

// UpperBound returns the one-sided 95 % upper bound of a share after k of n tries: the
// greatest share that gives k or fewer of n in one of twenty runs, such as 0.0149 for 0 of
// 200. It is exact. Without tries it is 1.
//
// Source: C. Clopper, E. Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the
// Case of the Binomial", Biometrika 26(4), 1934.
func UpperBound(k, n int) float64 {
	if k >= n || n <= 0 {
		return 1
	}
	k = max(0, k)
	if k == 0 {
		return -math.Expm1(math.Log(1-level95) / float64(n))
	}
	// P(X <= k) falls as the share p rises; it is 1 - I_p(k+1, n-k).
	lo, hi := float64(k)/float64(n), 1.0
	for range 60 {
		p := (lo + hi) / 2
		if 1-mathx.BetaInc(p, float64(k+1), float64(n-k)) > 1-level95 {
			lo = p
		} else {
			hi = p
		}
	}
	return hi
}

// Jain returns the fairness index of xs, from 1/len(xs) (one has all) to 1 (all are
// equal): (Σx)² / (n · Σx²). It is 0 if all are 0.
//
// Source: R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984.
func Jain[N int | int64 | float64](xs []N) float64 {
	var sum, squares float64
	for _, x := range xs {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(xs)) * squares)
}
