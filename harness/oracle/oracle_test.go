package oracle

import (
	"math/rand/v2"
	"testing"
	"time"

	"locklab/harness"
)

func write(from, to int64) Hold { return Hold{Acquired: from, Releasing: to} }
func read(from, to int64) Hold  { return Hold{Acquired: from, Releasing: to, Shared: true} }

func TestOverlaps(t *testing.T) {
	for _, c := range []struct {
		name    string
		permits int
		holds   []Hold
		want    uint64
	}{
		{"none", 0, nil, 0},
		{"one", 1, []Hold{write(1, 9)}, 0},
		{"in turn", 0, []Hold{write(1, 3), write(3, 4)}, 0},
		{"overlap", 0, []Hold{write(1, 5), write(4, 6)}, 1},
		{"inside a long hold", 1, []Hold{write(1, 100), write(10, 20), write(30, 40)}, 2},
		{"after a long hold", 0, []Hold{write(1, 100), write(10, 20), write(100, 140)}, 1},

		{"readers share", 0, []Hold{read(1, 9), read(2, 5), read(3, 8), write(9, 12), read(12, 13)}, 0},
		{"writer among readers", 0, []Hold{read(1, 9), read(2, 5), write(6, 8)}, 1},
		{"reader in a writer", 1, []Hold{write(1, 9), read(2, 5), read(9, 11), read(10, 12)}, 1},
		{"readers in a writer that one of them outlasts", 0, []Hold{write(1, 9), read(2, 20), read(3, 4)}, 2},
		{"writers beside a reader", 0, []Hold{read(1, 100), write(2, 5), write(4, 7)}, 2},

		{"all permits", 2, []Hold{write(1, 9), write(2, 5), write(5, 8), write(8, 9)}, 0},
		{"one permit too many", 2, []Hold{write(1, 9), write(2, 5), write(4, 8), write(8, 9)}, 1},
		{"three permits, long and short", 3, []Hold{write(1, 90), write(2, 80), write(3, 4), write(5, 6), write(7, 8), write(7, 9)}, 1},
		{"readers take permits", 2, []Hold{read(1, 9), read(2, 5), read(3, 8)}, 1},
		{"permits do not mix readers and writers", 3, []Hold{read(1, 9), write(2, 5)}, 1},
		{"fewer holds than permits", 9, []Hold{write(1, 9), write(1, 9)}, 0},
	} {
		t.Run(c.name, func(t *testing.T) { want(t, Overlaps(c.holds, c.permits), Exclusion, c.want) })
	}
}

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
		{"repeated", 1, w(1, 1, 2), 1},
		{"falling", 0, w(5, 4, 3), 2},
		{"fallen behind one before the last", 0, w(5, 3, 4), 2},

		{"readers share one", 0, r(w(1, 1, 1, 2), 1, 2), 0},
		{"readers rise", 0, r(w(1, 2, 3, 4), 1, 2), 0},
		{"readers in any order", 0, r(w(1, 3, 2, 4), 1, 2), 0},
		{"readers before any writer", 0, r(w(0, 0, 1), 0, 1), 0},
		{"reader below the writer before it", 0, r(w(2, 1, 3), 1), 1},
		{"reader below a writer two acquisitions before", 0, r(w(1, 5, 5, 4), 2, 3), 1},
		{"writer with a reader's", 0, r(w(1, 2, 2), 1), 1},
		{"writer below one of the readers", 0, r(w(1, 9, 2, 3), 1, 2), 1},
		{"writers rise, but not by themselves", 0, r(w(1, 1, 1), 1), 1},

		{"permits in turn, rising", 2, w(1, 2, 3), 0},
		{"permits in turn, falling", 2, w(2, 1, 3), 1},
		{"permits together, granted in an unknown order", 2, early(w(2, 1)), 0},
		{"permits, asked for in the moment of a grant", 2, []Hold{{Acquired: 5, Releasing: 9, Token: 2}, {Requested: 5, Acquired: 6, Releasing: 9, Token: 1}}, 0},
		{"permits, asked for after a grant", 2, []Hold{{Acquired: 5, Releasing: 9, Token: 2}, {Requested: 6, Acquired: 7, Releasing: 9, Token: 1}}, 1},
		{"without permits the order is known", 1, early(w(2, 1)), 1},
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
	want(t, NotReturned(nil, time.Second), Liveness, 0)
	want(t, NotReturned([]int{4, 7}, time.Second), Liveness, 2)
}

// TestOverlapsAgainstBruteForce compares the verdict with the quadratic definition.
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
