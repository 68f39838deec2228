package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestLevel(t *testing.T) {
	for cases, want := range map[int]float64{0: 0.95, 1: 0.95, 2: 0.95, 5: 0.995, 25: 1 - 0.05/300} {
		if level := Level(Pairs(cases)); math.Abs(level-want) > 1e-12 {
			t.Errorf("%d cases: level %v for all pairs, want %v", cases, level, want)
		}
	}
}

// TestLeaderIsChosen: among equal cases, the level for all pairs keeps false differences to
// the leader under 5 %; the level for the leader's comparisons does not.
func TestLeaderIsChosen(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	claims := func(k int, level float64) float64 {
		const draws = 1200
		found := 0
		for range draws {
			cases := make([][]float64, k)
			best := 0
			for i := range cases {
				for range 10 {
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
		if share := claims(k, Level(Pairs(k))); share > 0.069 { // three standard errors above 5 %
			t.Errorf("%d equal cases: %.1f %% of draws claim a difference", k, 100*share)
		}
	}
	if share := claims(17, Level(16)); share < 0.08 {
		t.Errorf("correcting for the comparisons with the leader alone gives %.1f %%; this test shows nothing", 100*share)
	}
}
