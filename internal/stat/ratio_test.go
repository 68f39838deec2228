package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/aclements/go-moremath/stats"
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
	few := MinRounds - 1
	if c := Paired(a[:few], b[:few], 0.95); c.Enough() || c.Greater() || c.N != few || c.Lo > c.Median || c.Hi < c.Median {
		t.Errorf("%d rounds: got %+v, want too few, with their range", few, c)
	}
	if c := Paired([]float64{0, 1, math.NaN()}, []float64{0, 0, 1}, 0.5); c.N != 1 || !math.IsInf(c.Median, 1) {
		t.Errorf("zeros: got %+v, want one infinite ratio", c)
	}
	if c := Paired(nil, nil, 0.95); c.Enough() || c.Greater() || c.Less() {
		t.Errorf("nothing: got %+v, want no verdict", c)
	}
}

// TestPairedIsTTest compares P with the t-test of the library, and the interval with P.
func TestPairedIsTTest(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		n := MinRounds + random.IntN(30)
		a, b, logs := make([]float64, n), make([]float64, n), make([]float64, n)
		shift := 0.3 * random.Float64()
		for i := range n {
			logs[i] = shift + 0.3*random.NormFloat64()
			a[i] = float64(1 + random.IntN(6))
			b[i] = a[i] * math.Exp(logs[i])
		}
		level := []float64{0.9, 0.95, 0.999}[random.IntN(3)]
		e := Paired(b, a, level)
		test, err := stats.OneSampleTTest(stats.Sample{Xs: logs}, 0, stats.LocationDiffers)
		if err != nil || math.Abs(e.P-test.P) > 1e-9 {
			t.Fatalf("n = %d: p = %v, want that of %+v, error %v", n, e.P, test, err)
		}
		if out := e.Greater() || e.Less(); out != (e.P < 1-level) {
			t.Fatalf("n = %d, p = %v at level %v, interval %v to %v", n, e.P, level, e.Lo, e.Hi)
		}
	}
}

// TestPairedErrs: of equal cases at most 5 % differ, whether noise is normal, has outliers, or
// has two modes.
func TestPairedErrs(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for name, noise := range map[string]func() float64{
		"normal":   random.NormFloat64,
		"outliers": func() float64 { return math.Tan(math.Pi * (random.Float64() - 0.5)) },
		"modes":    func() float64 { return float64(random.IntN(2)) + 0.1*random.NormFloat64() },
	} {
		const runs = 2000
		for _, rounds := range []int{MinRounds, 12} {
			wrong := 0
			for range runs {
				a, b := make([]float64, rounds), make([]float64, rounds)
				for i := range rounds {
					a[i], b[i] = math.Exp(noise()), math.Exp(noise())
				}
				if r := Paired(a, b, 0.95); r.Greater() || r.Less() {
					wrong++
				}
			}
			if share := float64(wrong) / runs; share > 0.07 { // four standard errors
				t.Errorf("%s, %d rounds: %.1f %% of equal cases differ", name, rounds, 100*share)
			}
		}
	}
}

func TestOddFigures(t *testing.T) {
	odd := [][]float64{nil, {0}, {0, 0, 0}, {1, 1, 1, 1, 1, 1}, {math.MaxFloat64, 1e-300}, {0, 1, 2, 3, 4, 5, 6}, {0, 0, 0, 0, 0, 0, 0}, {5e-324, 5e-324}}
	for _, a := range odd {
		for _, b := range odd {
			for _, level := range []float64{0.5, 0.95, 1 - 1e-15} {
				if e := Unpaired(b, a, level); !(e.P >= 0 && e.P <= 1) {
					t.Errorf("%v, %v: p = %v", a, b, e.P)
				}
				n := min(len(a), len(b))
				if e := Paired(b[:n], a[:n], level); !(e.P >= 0 && e.P <= 1) || e.N > 0 && !(e.Lo <= e.Median && e.Median <= e.Hi) {
					t.Errorf("%v, %v: got %+v", a, b, e)
				}
			}
		}
	}
}
