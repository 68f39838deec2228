package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestPaired(t *testing.T) {
	// Rounds that differ by a factor of 30, in which a is always 1.2 times b.
	var a, b []float64
	for i := range 10 {
		base := math.Pow(1.4, float64(i))
		a, b = append(a, 1.2*base*(1+0.001*float64(i))), append(b, base)
	}
	if c := Paired(a, b, 0.95); !c.Greater() || c.Less() || math.Abs(c.Median-1.2) > 0.01 {
		t.Errorf("paired: got %+v, want 1.2 and greater", c)
	}
	if c := Paired(b, a, 0.95); !c.Less() || c.Greater() {
		t.Errorf("turned round: got %+v, want less", c)
	}
	if c := Paired(a, a, 0.95); c.Greater() || c.Less() || !c.Enough() {
		t.Errorf("with itself: got %+v, want neither, from enough rounds", c)
	}
	// Ten rounds reach 99.8 %, not 99.9 %: even a clear difference gives no verdict.
	if c := Paired(a, b, 0.999); c.Enough() || c.Greater() {
		t.Errorf("at 99.9 %%: got %+v, want too few rounds", c)
	}
	if c := Paired([]float64{0, 1, math.NaN()}, []float64{0, 0, 1}, 0.5); c.N != 1 || !math.IsInf(c.Median, 1) {
		t.Errorf("zeros: got %+v, want one infinite ratio", c)
	}
	if c := Paired(nil, nil, 0.95); c.Enough() || c.Greater() || c.Less() {
		t.Errorf("nothing: got %+v, want no verdict", c)
	}
}

func TestPairedIsSignTest(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		n := 1 + random.IntN(30)
		a, b := make([]float64, n), make([]float64, n)
		for i := range n {
			a[i] = float64(1 + random.IntN(6)) // with ties
			b[i] = a[i] * []float64{0.8, 0.9, 1, 1.1}[random.IntN(4)]
		}
		level := []float64{0.9, 0.95, 0.999}[random.IntN(3)]
		e := Paired(b, a, level)
		out := e.Lo > 1 || e.Hi < 1
		if rejects := e.P <= 1-level; e.Enough() && out != rejects {
			t.Fatalf("n = %d, p = %v at level %v, interval %v to %v", n, e.P, level, e.Lo, e.Hi)
		}
	}
}

func TestOddFigures(t *testing.T) {
	odd := [][]float64{nil, {0}, {0, 0, 0}, {1, 1, 1, 1, 1, 1}, {math.MaxFloat64, 1e-300}, {0, 1, 2, 3, 4, 5, 6}, {5e-324, 5e-324}}
	for _, a := range odd {
		for _, b := range odd {
			for _, level := range []float64{0.5, 0.95, 1 - 1e-15} {
				if e := Unpaired(b, a, level); !(e.P >= 0 && e.P <= 1) {
					t.Errorf("%v, %v: p = %v", a, b, e.P)
				}
				n := min(len(a), len(b))
				if e := Paired(b[:n], a[:n], level); !(e.P >= 0 && e.P <= 1) {
					t.Errorf("%v, %v: p = %v", a, b, e.P)
				}
			}
		}
	}
}
