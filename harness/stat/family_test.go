package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

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
				if Paired(cases[best], cases[i], level).Greater() {
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
