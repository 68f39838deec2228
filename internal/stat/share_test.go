package stat_test

import (
	"math"
	"testing"

	"locklab/internal/stat"
)

// TestUpperBound compares with a bisection of the binomial sum in Python, and with that sum.
func TestUpperBound(t *testing.T) {
	for _, c := range []struct {
		k, n int
		want float64
	}{
		{0, 200, 0.01486686}, {0, 1, 0.95}, {0, 20, 0.1391083}, {0, 59, 0.04950743},
		{1, 10, 0.3941633}, {5, 10, 0.7775589}, {1, 200, 0.02349847}, {9, 10, 0.9948838},
		{10, 10, 1}, {0, 0, 1}, {3, 0, 1}, {-1, 200, 0.01486686},
	} {
		if got := stat.UpperBound(c.k, c.n); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%d of %d: %.8f, want %.8f", c.k, c.n, got, c.want)
		}
	}
	for _, n := range []int{1, 7, 200, 1000} {
		last := 0.0
		for k := range n {
			p := stat.UpperBound(k, n)
			if got := cumulated(k, n, p); math.Abs(got-0.05) > 1e-7 {
				t.Errorf("%d of %d: with the share %v so few are seen in %v of the runs, want 0.05", k, n, p, got)
			}
			if p <= last || p < float64(k)/float64(n) {
				t.Errorf("%d of %d: %v, of one fewer %v", k, n, p, last)
			}
			last = p
		}
	}
}

func cumulated(k, n int, p float64) (sum float64) {
	ln := func(n int) float64 { v, _ := math.Lgamma(float64(n + 1)); return v }
	for i := range k + 1 {
		sum += math.Exp(ln(n) - ln(i) - ln(n-i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}
