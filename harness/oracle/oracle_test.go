package oracle

import (
	"math/rand/v2"
	"testing"
	"time"

	"locklab/harness"
)

func TestTokens(t *testing.T) {
	w := func(tokens ...uint64) (holds []Hold) {
		for i, k := range tokens {
			holds = append(holds, Hold{Requested: int64(i), Acquired: int64(i), Releasing: int64(i) + 1, Token: k})
		}
		return holds
	}
	r := func(holds []Hold, readers ...int) []Hold {
		for _, i := range readers {
			holds[i].Shared = true
		}
		return holds
	}
	early := func(holds []Hold) []Hold {
		for i := range holds {
			holds[i].Requested = -1
		}
		return holds
	}
	for _, c := range []struct {
		name    string
		permits int
		holds   []Hold
		want    uint64
	}{
		{"rising", 0, w(1, 2, 9), 0},
		{"fallen behind one before the last", 0, w(5, 3, 4), 2},

		{"readers share one", 0, r(w(1, 1, 1, 2), 1, 2), 0},
		{"readers in any order", 0, r(w(1, 3, 2, 4), 1, 2), 0},
		{"readers before any writer", 0, r(w(0, 0, 1), 0, 1), 0},
		{"reader below a writer two acquisitions before", 0, r(w(1, 5, 5, 4), 2, 3), 1},
		{"writer below one of the readers", 0, r(w(1, 9, 2, 3), 1, 2), 1},

		{"permits in turn, falling", 2, w(2, 1, 3), 1},
		{"permits together, granted in an unknown order", 2, early(w(2, 1)), 0},
		{"permits, asked for in the moment of a grant", 2, []Hold{{Acquired: 5, Releasing: 9, Token: 2}, {Requested: 5, Acquired: 6, Releasing: 9, Token: 1}}, 0},
		{"permits, asked for after a grant", 2, []Hold{{Acquired: 5, Releasing: 9, Token: 2}, {Requested: 6, Acquired: 7, Releasing: 9, Token: 1}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) { want(t, Tokens(c.holds, c.permits), Fencing, c.want) })
	}
}

func TestCounterAndStuck(t *testing.T) {
	want(t, Counter(5, 5), Exclusion, 0)
	want(t, Counter(3, 5), Exclusion, 2)
	want(t, Counter(6, 5), Exclusion, 1)
	want(t, Data("map", 5, 5, ""), Exclusion, 0)
	want(t, Data("map", 3, 5, ""), Exclusion, 2)
	want(t, Data("map", 6, 5, "and broken"), Exclusion, 1)
	want(t, Data("map", 5, 5, "broken"), Exclusion, 1)
	want(t, Stuck(nil, time.Second), Liveness, 0)
	want(t, Stuck([]int{4, 7}, time.Second), Liveness, 2)
}

// TestOverlapsAgainstBruteForce plants overlaps in random histories of writers, readers
// and several permits, and compares the verdict with the quadratic definition.
func TestOverlapsAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 4000 {
		permits, readers := round%4, round%3 == 0
		var holds []Hold
		now := int64(0)
		for i := range 2 + rng.IntN(20) {
			start := now - rng.Int64N(3)
			end := start + 1 + rng.Int64N(10)
			holds = append(holds, Hold{Worker: i, Acquired: start, Releasing: end, Shared: readers && rng.IntN(2) == 0})
			if rng.IntN(max(1, permits)) == 0 { // otherwise the next one overlaps it
				now = end
			}
		}
		Sort(holds)
		want(t, Overlaps(holds, permits), Exclusion, overlapping(holds, permits))
	}
}

// overlapping is the definition that Overlaps implements.
func overlapping(holds []Hold, permits int) (n uint64) {
	for i, h := range holds {
		inside, others := 0, false
		for _, o := range holds[:i] {
			if h.Acquired < o.Releasing {
				inside++
				others = others || h.Shared != o.Shared
			}
		}
		full := inside >= max(1, permits) && (permits > 1 || !h.Shared)
		if others || full {
			n++
		}
	}
	return n
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
