package stat

import (
	"math"
	"slices"
	"testing"
)

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

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestHolm(t *testing.T) {
	for _, c := range []struct{ in, want []float64 }{
		{nil, nil},
		{[]float64{0.03}, []float64{0.03}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.5, 0.6, 1}, []float64{1, 1, 1}},
		{[]float64{0.02, 0.02}, []float64{0.04, 0.04}},
	} {
		if got := Holm(slices.Clone(c.in)); !slices.EqualFunc(got, c.want, near) {
			t.Errorf("%v: got %v, want %v", c.in, got, c.want)
		}
	}
}
