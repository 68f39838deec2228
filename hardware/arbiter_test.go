package hardware

import (
	"math"
	"strings"
	"testing"
	"testing/quick"

	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/require"
)

func checkGrant(circuit func([]bool) (winner, closed int), pulls []bool) bool {
	want, paths := none, 0
	for i, mine := range pulls {
		path := mine
		for j, other := range pulls {
			if j != i && other {
				path = false // the other's switch opens this path
			}
		}
		if path {
			want, paths = i, paths+1
		}
	}
	winner, closed := circuit(pulls)
	return paths <= 1 && winner == want && closed == paths
}

func TestGrantIsSafe(t *testing.T) {
	if err := quick.Check(func(pulls []bool) bool { return checkGrant(grant, pulls) }, nil); err != nil {
		t.Error(err)
	}
	// Long random inputs seldom have exactly one contender that pulls.
	for n := range 10 {
		for set := range 1 << n {
			pulls := make([]bool, n)
			for i := range pulls {
				pulls[i] = set>>i&1 == 1
			}
			if !checkGrant(grant, pulls) {
				t.Errorf("wrong for %v", pulls)
			}
		}
	}
}

// TestRoundsFollowTheFormula: the mean is within five standard errors; the seed is fixed.
func TestRoundsFollowTheFormula(t *testing.T) {
	const rounds = 50_000
	for _, n := range []int{1, 2, 5, 8, 30} {
		for _, p := range []float64{0.02, 1 / float64(n), 0.3} {
			want := expectedRounds(n, p)
			if want > 500 {
				continue // too few grants
			}
			g := play(rounds, n, pullWithProbability(n, p, machine.NewRandom(1)))
			// A round grants with probability q = 1/want.
			q := 1 / want
			deviation := math.Sqrt(q * (1 - q) / rounds)
			if got := 1 / g.roundsPerGrant(); math.Abs(got-q) > 5*deviation+1e-9 {
				t.Errorf("n=%d p=%.3f: grants in a round %.4f, want %.4f ± %.4f", n, p, got, q, deviation)
			}
			if g.double != 0 {
				t.Errorf("n=%d p=%.3f: two winners in %d rounds", n, p, g.double)
			}
		}
	}
}

func TestPlaySeesTwoWinners(t *testing.T) {
	if g := play(10, 2, func() (int, int) { return 0, 2 }); g.double != 10 || g.grants != 0 {
		t.Errorf("two winners go unseen: %+v", g)
	}
}

func playArbiter(t *testing.T, seed uint64) *result.Finding {
	t.Helper()
	f, err := runArbiter(t.Context(), Options{Repeats: 1, Seed: seed})
	requireNoError(t, err)
	return f
}

func TestArbiterRepeats(t *testing.T) {
	first := playArbiter(t, 7).Answer
	if again := playArbiter(t, 7).Answer; again != first {
		t.Errorf("seed 7 gave %q, then %q", first, again)
	}
	if other := playArbiter(t, 8).Answer; other == first {
		t.Error("seeds 7 and 8 gave the same")
	}
	if !strings.Contains(first, "no grant in 20.0 k rounds") {
		t.Errorf("the answer does not tell of the livelock: %s", first)
	}
}

func TestArbiterTables(t *testing.T) {
	f := playArbiter(t, 1)
	if !strings.HasPrefix(f.Answer, "Two won at once in 0 of ") {
		t.Errorf("answer is %q", f.Answer)
	}
	rounds, jain := f.Tables[1], f.Tables[2]
	if len(rounds.Rows) != len(arbiterSizes) || len(jain.Rows) != len(arbiterSizes) {
		t.Fatalf("%d and %d rows", len(rounds.Rows), len(jain.Rows))
	}
	for i, n := range arbiterSizes {
		near := func(what string, c result.Cell, want, off float64) {
			if c.N != 1 || math.Abs(c.Median/want-1) > off {
				t.Errorf("N=%d: %s is %v, want %.3f", n, what, c, want)
			}
		}
		r, j := rounds.Rows[i].Cells, jain.Rows[i].Cells
		if rounds.Rows[i].X != float64(n) || r[0].Text != "never" || j[0].Text != "-" || r[2].N != 1 {
			t.Errorf("N=%d: %+v, %+v", n, rounds.Rows[i], jain.Rows[i])
		}
		near("rounds at 1/N", r[1], expectedRounds(n, 1/float64(n)), 0.05)
		near("formula", r[len(policies)], expectedRounds(n, 1/float64(n)), 0)
		near("rounds by priority", r[3], 1, 0)
		near("rounds in turn", r[4], 1, 0)
		near("Jain at 1/N", j[1], 1, 0.05)
		near("Jain by priority", j[3], 1/float64(n), 1e-9)
		near("Jain in turn", j[4], 1, 1e-3) // the last rotation is incomplete
	}
}

var requireNoError = require.NoError
