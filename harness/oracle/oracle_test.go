package oracle

import (
	"math/rand/v2"
	"testing"
	"time"

	"locklab/harness"
)

func TestOverlaps(t *testing.T) {
	for _, c := range []struct {
		name  string
		holds []Hold
		want  uint64
	}{
		{"none", nil, 0},
		{"one", []Hold{{Acquired: 1, Releasing: 9}}, 0},
		{"in turn", []Hold{{Acquired: 1, Releasing: 3}, {Worker: 1, Acquired: 3, Releasing: 4}}, 0},
		{"overlap", []Hold{{Acquired: 1, Releasing: 5}, {Worker: 1, Acquired: 4, Releasing: 6}}, 1},
		{"inside a long hold", []Hold{{Acquired: 1, Releasing: 100}, {Worker: 1, Acquired: 10, Releasing: 20}, {Worker: 2, Acquired: 30, Releasing: 40}}, 2},
		{"after a long hold", []Hold{{Acquired: 1, Releasing: 100}, {Worker: 1, Acquired: 10, Releasing: 20}, {Worker: 2, Acquired: 100, Releasing: 140}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) { want(t, Overlaps(c.holds), Exclusion, c.want) })
	}
}

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		name   string
		tokens []uint64
		want   uint64
	}{
		{"rising", []uint64{1, 2, 9}, 0},
		{"repeated", []uint64{1, 1, 2}, 1},
		{"falling", []uint64{5, 4, 3}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var holds []Hold
			for _, k := range c.tokens {
				holds = append(holds, Hold{Token: k})
			}
			want(t, Tokens(holds), Fencing, c.want)
		})
	}
}

func TestCounterAndStuck(t *testing.T) {
	want(t, Counter(5, 5), Exclusion, 0)
	want(t, Counter(3, 5), Exclusion, 2)
	want(t, Counter(6, 5), Exclusion, 1)
	want(t, Stuck(nil, time.Second), Liveness, 0)
	want(t, Stuck([]int{4, 7}, time.Second), Liveness, 2)
}

// TestOverlapsAgainstBruteForce plants overlaps in random histories and
// compares the verdict with the quadratic definition.
func TestOverlapsAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var holds []Hold
		now := int64(0)
		for i := range 2 + rng.IntN(20) {
			start := now - rng.Int64N(3)
			end := start + 1 + rng.Int64N(10)
			holds = append(holds, Hold{Worker: i, Acquired: start, Releasing: end})
			now = end
		}
		Sort(holds)
		var brute uint64
		for i, h := range holds {
			for _, o := range holds[:i] {
				if h.Acquired < o.Releasing {
					brute++
					break
				}
			}
		}
		want(t, Overlaps(holds), Exclusion, brute)
	}
}

func want(t *testing.T, vs []harness.Violation, rule string, n uint64) {
	t.Helper()
	switch {
	case n == 0 && len(vs) != 0:
		t.Errorf("reported %v, want nothing", vs)
	case n != 0 && (len(vs) != 1 || vs[0].Rule != rule || vs[0].Count != n || vs[0].Detail == ""):
		t.Errorf("reported %v, want one violation of %s, %d times", vs, rule, n)
	}
}
