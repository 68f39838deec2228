package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/perf/benchmath"
)

func drawFigures(rng *rand.Rand, n int, scale float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = scale * math.Exp(0.1*rng.NormFloat64())
	}
	return xs
}

func benchstatP(a, b []float64) float64 {
	sample := func(xs []float64) *benchmath.Sample {
		return benchmath.NewSample(slices.Clone(xs), &benchmath.DefaultThresholds)
	}
	return benchmath.AssumeNothing.Compare(sample(a), sample(b)).P
}

func TestUnpairedIsMannWhitney(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	apart := 0
	for range 400 {
		a, b := drawFigures(rng, 4+rng.IntN(9), 1.1), drawFigures(rng, 4+rng.IntN(9), 1)
		for _, level := range []float64{0.95, 0.99} {
			c := Unpaired(a, b, level)
			p := benchstatP(a, b)
			if c.P != p {
				t.Fatalf("P is %v, benchstat's %v", c.P, p)
			}
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

func TestUnpairedCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		m, n  int
		level float64
	}{{6, 6, 0.95}, {10, 7, 0.99}, {31, 31, 0.95}} {
		missed := 0
		const tries = 1500
		for range tries {
			if got := Unpaired(drawFigures(rng, c.m, 3), drawFigures(rng, c.n, 2), c.level); !(got.Lo <= 1.5 && 1.5 <= got.Hi) {
				missed++
			}
		}
		if share := float64(missed) / tries; share > 1.6*(1-c.level) {
			t.Errorf("%+v: the factor is outside in %.1f %%", c, 100*share)
		}
	}
}

func TestUnpairedEdges(t *testing.T) {
	for name, c := range map[string]struct {
		a, b   []float64
		level  float64
		want   Summary
		enough bool
	}{
		"three and three": {[]float64{2, 2, 2}, []float64{1, 1, 1}, 0.95, Summary{2, 2, 2, 0.9, 3, false}, false},
		"four and four":   {[]float64{2, 2, 2, 2}, []float64{1, 1, 1, 1}, 0.95, Summary{2, 2, 2, 1 - 2.0/70, 4, false}, true},
		"zeros":           {[]float64{0, 0, 0, 0}, []float64{0, 0, 0, 0}, 0.95, Summary{1, 1, 1, 1 - 2.0/70, 4, false}, true},
		"one and one":     {[]float64{3}, []float64{2}, 0.95, Summary{1.5, 1.5, 1.5, 0, 1, false}, false},
	} {
		got := Unpaired(c.a, c.b, c.level)
		if math.Abs(got.Confidence-c.want.Confidence) < 1e-12 {
			got.Confidence = c.want.Confidence
		}
		if got.Summary != c.want || got.Enough() != c.enough {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	if got := Unpaired(nil, []float64{1}, 0.95); got.N != 0 || got.Enough() {
		t.Errorf("no rounds: got %+v", got)
	}
	if got := Unpaired([]float64{math.NaN()}, []float64{1}, 0.95); got.N != 0 {
		t.Errorf("a NaN: got %+v", got)
	}
	for level, want := range map[float64]int{0.95: 4, 0.99: 5, 0.999: 7} {
		if got := MinUnpaired(level); got != want {
			t.Errorf("MinUnpaired(%v) is %d, want %d", level, got, want)
		}
		if _, c := ratioRank(want, want, level); c < level {
			t.Errorf("%d rounds reach %v, want %v", want, c, level)
		}
	}
}

func TestRatioRank(t *testing.T) {
	for _, c := range [][2]int{{1, 1}, {2, 3}, {4, 2}, {5, 5}, {6, 4}} {
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
		for _, level := range []float64{0.3, 0.5, 0.9, 0.95, 0.99} {
			rank, want, below := 1, max(0, 1-2*counts[0]/all), 0.0
			for k := 1; k <= (m*n+1)/2; k++ {
				if below += counts[k-1] / all; 1-2*below >= level-1e-12 {
					rank, want = k, 1-2*below
				}
			}
			if got, confidence := ratioRank(m, n, level); got != rank || math.Abs(confidence-want) > 1e-12 {
				t.Errorf("%d and %d at %v: rank %d at %v, want %d at %v", m, n, level, got, confidence, rank, want)
			}
		}
	}
}

// TestUnpairedEnough: samples are too small exactly if the test cannot reject at all.
func TestUnpairedEnough(t *testing.T) {
	for n := 1; n <= 9; n++ {
		var low, high []float64
		for i := range n {
			low, high = append(low, 1+float64(i)/100), append(high, 2+float64(i)/100)
		}
		least := benchstatP(low, high)
		for _, alpha := range []float64{0.5, 0.05, 0.005, 0.0005} {
			if r := Unpaired(high, low, 1-alpha); r.Enough() != (least <= alpha) {
				t.Errorf("%d rounds at %v: enough is %v, the least P is %v", n, alpha, r.Enough(), least)
			}
		}
	}
}

// TestRatioRankApproximation: exact and normal ranks agree within one in a hundred.
func TestRatioRankApproximation(t *testing.T) {
	const last = 50
	for _, level := range []float64{0.9, 0.95, 0.999} {
		exact, _ := ratioRank(last, last, level)
		next, confidence := ratioRank(last, last+1, level)
		mean, dev := float64(last*last)/2, math.Sqrt(float64(last*last*(2*last+1))/12)
		approximate := int(mean + 0.5 - math.Sqrt2*math.Erfinv(level)*dev)
		if d := exact - approximate; d < -exact/100 || d > exact/100 {
			t.Errorf("at %v: rank %d exactly, %d by approximation", level, exact, approximate)
		}
		if next < exact || confidence < level {
			t.Errorf("at %v: rank %d of %d and %d, rank %d at %v of one more", level, exact, last, last, next, confidence)
		}
	}
}
