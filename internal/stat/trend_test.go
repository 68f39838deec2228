package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestFindTrend(t *testing.T) {
	for _, c := range []struct {
		name      string
		xs        []float64
		p, change float64
	}{
		{"nothing", nil, 1, 0},
		{"one", []float64{3}, 1, 0},
		{"three in order", []float64{1, 2, 3}, 2.0 / 6, 2},
		{"four in order", []float64{1, 3, 5, 7}, 2.0 / 24, 6},
		{"four down", []float64{7, 5, 3, 1}, 2.0 / 24, -6},
		{"one swap of four", []float64{1, 3, 2, 4}, 2 * 4.0 / 24, 3},
		{"constant", []float64{5, 5, 5, 5, 5}, 1, 0},
		// Kendall's own table has S = 15 of 6 values once in each direction.
		{"six in order", []float64{1, 2, 3, 4, 5, 6}, 2.0 / 720, 5},
		{"one wild value moves nothing", []float64{1, 1e9, 2, 3, 4, 5, 6, 7}, -1, 7},
	} {
		got := FindTrend(c.xs)
		if got.N != len(c.xs) || c.p >= 0 && math.Abs(got.P-c.p) > 1e-12 || math.Abs(got.Change-c.change) > 1 {
			t.Errorf("%s: got %+v, want P %v and change %v", c.name, got, c.p, c.change)
		}
	}
}

// TestTrendLevel draws values without a trend: P must be under 5 % in no more than 5 % of
// the draws. Equal values, as in a coarse figure, must not raise that.
func TestTrendLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	const draws = 4000
	for _, coarse := range []bool{false, true} {
		for _, n := range []int{5, 12, exactTrend + 5} {
			found := 0
			for range draws {
				xs := make([]float64, n)
				for i := range xs {
					if xs[i] = rng.NormFloat64(); coarse {
						xs[i] = math.Round(xs[i])
					}
				}
				if FindTrend(xs).P < 0.05 {
					found++
				}
			}
			if share := float64(found) / draws; share > 0.06 {
				t.Errorf("n %d, coarse %v: a trend in %.1f %% of draws without one", n, coarse, 100*share)
			}
		}
	}
}

func TestTrendApproximation(t *testing.T) {
	for _, score := range []int{0, 100, 300, 500} {
		exact, close := kendall(exactTrend, score), kendall(exactTrend+1, score)
		if math.Abs(exact-close) > 0.02 {
			t.Errorf("score %d: %v and %v", score, exact, close)
		}
	}
}
