package metric

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

// TestTrendLevel draws values without a trend: P must be under 5 % in no more
// than 5 % of the draws. Equal values, as a coarse figure has them, must not
// raise that.
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

// TestTrendApproximation compares the two ways to the probability where one
// takes over from the other.
func TestTrendApproximation(t *testing.T) {
	for _, score := range []int{0, 100, 300, 500} {
		exact, close := kendall(exactTrend, score), kendall(exactTrend+1, score)
		if math.Abs(exact-close) > 0.02 {
			t.Errorf("score %d: %v and %v", score, exact, close)
		}
	}
}

// TestLevel checks the family level, and how many rounds it takes.
func TestLevel(t *testing.T) {
	for _, c := range []struct{ candidates, rivals, pairs, rounds int }{
		{0, 0, 0, 6}, {1, 0, 0, 6}, {2, 0, 1, 6}, {3, 0, 3, 7}, {1, 3, 3, 7}, {4, 13, 58, 12}, {5, 9, 55, 12}, {25, 0, 300, 14},
	} {
		pairs := Pairs(c.candidates, c.rivals)
		if rounds := MinRounds(Level(pairs)); pairs != c.pairs || rounds != c.rounds {
			t.Errorf("%d candidates, %d rivals: %d pairs, %d rounds; want %d, %d", c.candidates, c.rivals, pairs, rounds, c.pairs, c.rounds)
		}
	}
}

// TestLevelOf: families that share the chance of a false difference spend all of
// it and no more.
func TestLevelOf(t *testing.T) {
	spent := 6*(1-LevelOf(0.9, 6)) + 52*(1-LevelOf(0.1, 52))
	if math.Abs(spent-0.05) > 1e-12 || LevelOf(1, 7) != Level(7) || LevelOf(1, 0) != 0.95 {
		t.Errorf("6 and 52 comparisons spend %v, want 0.05", spent)
	}
}

// TestLeaderIsChosen draws equal cases, picks the one with the highest median
// and compares the others with it in the fewest rounds. The level of the pairs
// keeps the chance of a false difference under 5 %; that of the comparisons
// with the leader alone does not.
func TestLeaderIsChosen(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	claims := func(k int, level float64) float64 {
		const draws = 1200
		found := 0
		for range draws {
			cases := make([][]float64, k)
			best := 0
			for i := range cases {
				for range MinRounds(level) {
					cases[i] = append(cases[i], math.Exp(rng.NormFloat64()))
				}
				if Summarize(cases[i]).Median > Summarize(cases[best]).Median {
					best = i
				}
			}
			for i := range cases {
				if Compare(cases[best], cases[i], level).Greater() {
					found++
					break
				}
			}
		}
		return float64(found) / draws
	}
	for _, k := range []int{2, 5, 17} {
		if share := claims(k, Level(Pairs(k, 0))); share > 0.05 {
			t.Errorf("%d equal cases: %.1f %% of draws claim a difference", k, 100*share)
		}
	}
	if share := claims(17, Level(16)); share < 0.06 {
		t.Errorf("correcting for the comparisons with the leader alone gives %.1f %%; this test shows nothing", 100*share)
	}
}
