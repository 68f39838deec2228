package oracle

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var rules = Rules{Fenced: true}

// chance makes a history of clients that ask, hold and leave at random times. About half
// of the histories are of correct locks. Times are small, so that many are equal.
type chance struct {
	*rand.Rand
	r    Rules
	h    History
	free int64 // the time from which the next grant is probably correct
	next uint64
}

func (c *chance) history() History {
	idle := make([]int64, 2+c.IntN(4))
	for range 4 + c.IntN(12) {
		w := c.IntN(len(idle))
		idle[w] = c.call(w, max(idle[w], c.free-c.Int64N(9)))
	}
	c.h.Sort()
	return c.h
}

func (c *chance) add(at int64, worker int, kind EventKind) *Event {
	c.h = append(c.h, Event{At: at, Worker: worker, Kind: kind})
	return &c.h[len(c.h)-1]
}

// call adds a call of Lock or TryLock at a time, and returns when the worker may call again.
func (c *chance) call(worker int, at int64) int64 {
	kind, shared := Asked, c.IntN(6) == 0
	if c.IntN(4) == 0 {
		kind = Tried
	}
	c.add(at, worker, kind).Shared = shared
	switch c.IntN(30) {
	case 0:
		at += c.Int64N(6)
		c.add(at, worker, Failed)
		return at
	case 1, 2, 3, 4, 5:
		at += c.Int64N(6)
		c.add(at, worker, Refused)
		return at
	case 6:
		c.add(at, worker, Killed)
		return at
	}
	at = max(at, c.free) + c.Int64N(3)
	if c.IntN(20) == 0 {
		at -= min(c.Int64N(6), at)
	}
	e := c.add(at, worker, Granted)
	c.next += 1 + uint64(c.IntN(2))
	e.Token, e.Shared = c.next, shared
	if c.IntN(25) == 0 {
		e.Token -= min(e.Token-1, uint64(c.IntN(4)))
	}
	return c.leave(worker, at+1+c.Int64N(7)) // two holds of one moment may have any order
}

func (c *chance) leave(worker int, at int64) int64 {
	if c.IntN(5) > 0 {
		c.add(at, worker, Releasing)
		at += c.Int64N(4)
		e := c.add(at, worker, Released)
		if c.IntN(5) == 0 {
			e.Text = "timeout"
		}
	} else {
		c.add(at, worker, []EventKind{Told, Killed}[c.IntN(2)])
	}
	if c.r.Permits <= 1 {
		c.free = at
	}
	return at
}

// TestAgreement: the oracle and porcupine reject the same histories.
func TestAgreement(t *testing.T) {
	const seeds = 12_000
	counts := make(map[string]int)
	count := func(ok bool, name string) {
		if ok {
			counts[name]++
		}
	}
	for seed := range uint64(seeds) {
		c := chance{Rand: rand.New(rand.NewPCG(seed, 1)), r: rules}
		if seed%4 == 0 {
			c.r = Rules{Permits: 2 + c.IntN(3), Spurious: true}
		}
		h := c.history()
		j := Judge(h, c.r)
		bad := len(j.Overlaps)+j.TokensFell+j.Unfounded > 0
		got := checkLinear(&j, c.r, 2*time.Second, time.Minute, 1+int(seed%3))
		if got.Verdict != NotProven && (got.Verdict == Violated) != bad {
			t.Fatalf("seed %d, %+v: the oracle finds %v, porcupine %+v\n%s", seed, c.r, j.Notes, got, dump(h))
		}
		count(got.Verdict != NotProven, "decided")
		count(bad, "wrong")
		count(!bad, "right")
		count(len(j.Overlaps) > 0, "overlaps")
		count(j.TokensFell > 0, "tokens that fell")
		count(j.Unfounded > 0, "refusals of a free lock")
		count(bad && c.r.Permits > 1, "wrong with several permits")
		count(!bad && c.r.Permits > 1, "right with several permits")
	}
	t.Log(counts)
	for name, n := range counts {
		if n < seeds/100 {
			t.Errorf("only %d of %d histories are %s", n, seeds, name)
		}
	}
	if counts["decided"] < seeds*99/100 {
		t.Errorf("only %d of %d histories are decided", counts["decided"], seeds)
	}
}

func dump(h History) (s string) {
	for _, e := range h {
		s += fmt.Sprintf("%d %d %s token %d shared %v %s\n", e.At, e.Worker, e.Kind, e.Token, e.Shared, e.Text)
	}
	return s
}
