package stat

import (
	"math"
	"slices"
	"testing"
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
		if got := UpperBound(c.k, c.n); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%d of %d: %.8f, want %.8f", c.k, c.n, got, c.want)
		}
	}
	for _, n := range []int{1, 7, 200, 1000} {
		last := 0.0
		for k := range n {
			p := UpperBound(k, n)
			if got := cumulativeShare(k, n, p); math.Abs(got-0.05) > 1e-7 {
				t.Errorf("%d of %d: with the share %v so few are seen in %v of the runs, want 0.05", k, n, p, got)
			}
			if p <= last || p < float64(k)/float64(n) {
				t.Errorf("%d of %d: %v, of one fewer %v", k, n, p, last)
			}
			last = p
		}
	}
}

func cumulativeShare(k, n int, p float64) (sum float64) {
	ln := func(n int) float64 { v, _ := math.Lgamma(float64(n + 1)); return v }
	for i := range k + 1 {
		sum += math.Exp(ln(n) - ln(i) - ln(n-i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

func TestJain(t *testing.T) {
	for _, c := range []struct {
		xs   []int
		want float64
	}{{nil, 0}, {[]int{0, 0}, 0}, {[]int{7, 7, 7}, 1}, {[]int{0, 0, 9, 0}, 0.25}, {[]int{1, 3}, 0.8}} {
		if got := Jain(c.xs); got != c.want {
			t.Errorf("Jain(%v) = %v, want %v", c.xs, got, c.want)
		}
	}
}

func nearlyEqual(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestHolm(t *testing.T) {
	for _, c := range []struct{ in, want []float64 }{
		{nil, nil},
		{[]float64{0.03}, []float64{0.03}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.5, 0.6, 1}, []float64{1, 1, 1}},
		{[]float64{0.02, 0.02}, []float64{0.04, 0.04}},
	} {
		if got := Holm(slices.Clone(c.in)); !slices.EqualFunc(got, c.want, nearlyEqual) {
			t.Errorf("%v: got %v, want %v", c.in, got, c.want)
		}
	}
}
