package metric

import (
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/perf/benchmath"
)

// TestMannWhitney compares with the counts of all arrangements.
func TestMannWhitney(t *testing.T) {
	for _, c := range [][2]int{{1, 1}, {2, 3}, {4, 2}, {5, 5}} {
		m, n := c[0], c[1]
		counts, all := make([]float64, m*n+1), 0.0
		for set := range 1 << (m + n) { // bit set: the value of that rank is of the first sample
			u, ones, zeros := 0, 0, 0
			for i := range m + n {
				if set>>i&1 == 1 {
					ones++
					u += zeros
				} else {
					zeros++
				}
			}
			if ones == m {
				counts[u]++
				all++
			}
		}
		for u, got := range mannWhitney(m, n) {
			if want := counts[u] / all; math.Abs(got-want) > 1e-12 {
				t.Errorf("P(U = %d) of %d and %d values is %v, want %v", u, m, n, got, want)
			}
		}
	}
}

// draw returns n figures around scale.
func drawFigures(rng *rand.Rand, n int, scale float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = scale * math.Exp(0.1*rng.NormFloat64())
	}
	return xs
}

// TestIndependentIsMannWhitney: the interval leaves 1 out when the test of
// another package rejects, and only then.
func TestIndependentIsMannWhitney(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	apart := 0
	for range 400 {
		a, b := drawFigures(rng, 4+rng.IntN(9), 1.1), drawFigures(rng, 4+rng.IntN(9), 1)
		for _, level := range []float64{0.95, 0.99} {
			c := CompareIndependent(a, b, level)
			thresholds := benchmath.DefaultThresholds
			p := benchmath.AssumeNothing.Compare(benchmath.NewSample(a, &thresholds), benchmath.NewSample(b, &thresholds)).P
			if got := c.Greater() || c.Less(); got != (p <= 1-level+1e-12) {
				t.Fatalf("%d and %d rounds at %v: apart is %v, but p = %v; %+v", len(a), len(b), level, got, p, c)
			} else if got {
				apart++
			}
		}
	}
	if apart < 100 || apart > 700 {
		t.Errorf("%d of 800 were apart: this says nothing", apart)
	}
}

func TestIndependentCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		m, n  int
		level float64
	}{{6, 6, 0.95}, {10, 7, 0.99}, {31, 31, 0.95}} {
		missed := 0
		const tries = 1500
		for range tries {
			if got := CompareIndependent(drawFigures(rng, c.m, 3), drawFigures(rng, c.n, 2), c.level); !(got.Lo <= 1.5 && 1.5 <= got.Hi) {
				missed++
			}
		}
		if share := float64(missed) / tries; share > 1.6*(1-c.level) {
			t.Errorf("%+v: the factor is outside in %.1f %%", c, 100*share)
		}
	}
}

func TestIndependentEdges(t *testing.T) {
	for name, c := range map[string]struct {
		a, b   []float64
		level  float64
		want   Comparison
		enough bool
	}{
		"three and three": {[]float64{2, 2, 2}, []float64{1, 1, 1}, 0.95, Comparison{Summary{2, 2, 2, 0.9, 3, false}, 0.95}, false},
		"four and four":   {[]float64{2, 2, 2, 2}, []float64{1, 1, 1, 1}, 0.95, Comparison{Summary{2, 2, 2, 1 - 2.0/70, 4, false}, 0.95}, true},
		"zeros":           {[]float64{0, 0, 0, 0}, []float64{0, 0, 0, 0}, 0.95, Comparison{Summary{1, 1, 1, 1 - 2.0/70, 4, false}, 0.95}, true},
		"one and one":     {[]float64{3}, []float64{2}, 0.95, Comparison{Summary{1.5, 1.5, 1.5, 0, 1, false}, 0.95}, false},
	} {
		got := CompareIndependent(c.a, c.b, c.level)
		if math.Abs(got.Confidence-c.want.Confidence) < 1e-12 {
			got.Confidence = c.want.Confidence
		}
		if got != c.want || got.Enough() != c.enough {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	if got := CompareIndependent(nil, []float64{1}, 0.95); got.N != 0 || got.Enough() {
		t.Errorf("no rounds: got %+v", got)
	}
	if got := CompareIndependent([]float64{math.NaN()}, []float64{1}, 0.95); got.N != 0 {
		t.Errorf("a NaN: got %+v", got)
	}
	for level, want := range map[float64]int{0.95: 4, 0.99: 5, 0.999: 7} {
		if got := MinIndependent(level); got != want {
			t.Errorf("MinIndependent(%v) is %d, want %d", level, got, want)
		}
		if _, c := ratioRank(want, want, level); c < level {
			t.Errorf("%d rounds reach %v, want %v", want, c, level)
		}
	}
	// The approximation joins the exact ranks.
	exact, _ := ratioRank(30, 30, 0.99)
	approximate, _ := ratioRank(30, 31, 0.99)
	if approximate < exact || approximate > exact+16 {
		t.Errorf("ranks jump from %d to %d", exact, approximate)
	}
}
