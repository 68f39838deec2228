package oracle

import (
	"cmp"
	"math/rand/v2"
	"testing"
	"time"
)

func turns(from int64, n, workers int) (h History) {
	for i := range n {
		at, w := from+int64(i)*10, i%workers
		h = append(h,
			Event{At: at, Worker: w, Kind: Asked},
			Event{At: at + 13, Worker: w, Kind: Granted, Token: uint64(i + 1)},
			Event{At: at + 20, Worker: w, Kind: Releasing},
			Event{At: at + 24, Worker: w, Kind: Released})
	}
	return h
}

func failedTries(n int) (h History) {
	for i := range n {
		h = append(h, Event{At: int64(i), Worker: 100 + i, Kind: Asked}, Event{At: 50, Worker: 100 + i, Kind: Failed})
	}
	return h
}

func overlapTogether(n int) History {
	h := History{{At: 0, Worker: -5, Kind: Asked}, {At: 1, Worker: -5, Kind: Granted, Token: 1}}
	for i := range n {
		h = append(h, Event{At: 2, Worker: i, Kind: Tried}, Event{At: 3, Worker: i, Kind: Refused})
	}
	return h
}

// refusals is a hold, and n refusals that begin when the one before ends.
func refusals(n int) History {
	h := overlapTogether(0)
	for i := range int64(n) {
		h = append(h, Event{At: 1 + i, Worker: int(i % 2), Kind: Tried}, Event{At: 2 + i, Worker: int(i % 2), Kind: Refused})
	}
	return h
}

func triesMeanwhile(n int) History {
	return append(append(overlapTogether(0), failedTries(n)...),
		Event{At: 0, Worker: 200, Kind: Tried}, Event{At: 60, Worker: 200, Kind: Refused})
}

func linearize(h History, r Rules) (Linearity, LinearWindow) {
	j := Judge(h, r)
	return CheckLinear(&j, r, 2*time.Second, time.Minute)
}

func TestCheck(t *testing.T) {
	refused := History{{At: 2000, Worker: 50, Kind: Tried}, {At: 2001, Worker: 50, Kind: Refused}}
	late := turns(0, 1000, 5) // its last grant comes too soon
	late[4*999+1].At -= 5
	soon := append(failedTries(4), turns(3, 40, 5)...)
	soon[2*4+4*30+1].At -= 9
	open := Rules{Permits: 2}
	for _, c := range []struct {
		name        string
		rules       Rules
		most, total time.Duration
		history     History
		want        Linearity
	}{
		{"nothing", rules, 0, 0, nil, Proven},
		{"turns", rules, 0, 0, turns(0, 1000, 5), Proven},
		{"turns, one grant too soon", rules, 0, 0, late, Violated},
		{"refused, free", rules, 0, 0, append(turns(0, 10, 5), refused...), Violated},
		{"refused, free, as a majority does", Rules{Spurious: true}, 0, 0, append(turns(0, 10, 5), refused...), Proven},
		{"refused, and an attempt failed long before", rules, 0, 0, append(append(failedTries(1), turns(100, 10, 5)...), refused...), Proven},
		{"refused before an attempt failed", rules, 0, 0, append(turns(3000, 10, 5), append(refused, Event{At: 2500, Worker: 60, Kind: Asked})...), Violated},
		{"a permit too many", open, 0, 0, append(overlapTogether(0), History{
			{At: 2, Worker: 1, Kind: Granted}, {At: 3, Worker: 2, Kind: Granted}}...), Violated},
		{"refused with a free permit", open, 0, 0, overlapTogether(1), Violated},
		{"refused without one", open, 0, 0, append(overlapTogether(1), Event{At: 1, Worker: 7, Kind: Granted}), Proven},

		{"two without an outcome", rules, 0, 0, parseScript(t, "1 1 asked; 2 2 asked; 3 3 asked; 4 3 granted t1"), Proven},
		{"late by its deadline, and a refusal before", rules, 0, 0, parseScript(t, "0 1 asked; 1 3 tried; 2 3 refused; 3 2 asked; 4 2 granted t2; 5 2 releasing; 6 2 released; 9 1 granted t1 d8"), Proven},
		{"nine without an outcome", rules, 0, 0, triesMeanwhile(9), Proven},
		{"nine without an outcome, one after the other", rules, 0, 0, append(failedTries(9), turns(60, 10, 5)...), Proven},
		{"nine without an outcome, and wrong", rules, 0, 0, append(triesMeanwhile(9), turns(5000, 1, 1)...), Violated},
		{"four without an outcome, one grant too soon", rules, 0, 0, soon, Violated},
		{"64 clients", rules, 0, 0, overlapTogether(63), Proven},
		{"65 clients", rules, 0, 0, overlapTogether(64), NotProven},
		{"10,000 operations", rules, 0, 0, refusals(9_999), Proven},
		{"10,001 operations", rules, 0, 0, refusals(10_000), NotProven},
		{"no time", rules, 1, 0, turns(0, 1000, 5), NotProven},
		{"no time at all", rules, 0, 1, turns(0, 10, 5), NotProven},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := Judge(c.history, c.rules)
			got, at := CheckLinear(&j, c.rules, cmp.Or(c.most, 2*time.Second), cmp.Or(c.total, time.Minute))
			if got != c.want {
				t.Errorf("%s at %v, want %s", got, at, c.want)
			}
		})
	}
}

func TestLinearWindows(t *testing.T) {
	h := turns(0, 20_000, 8)
	h[4*15_000+1].Token = 15_000 // like the one before
	if got, at := linearize(h[:4*15_000], rules); got != Proven {
		t.Errorf("%s at %v, want proven", got, at)
	}
	got, w := linearize(h, rules)
	if at := h[4*15_000+1].At; got != Violated || at < w.From || at > w.To || w.To-w.From > 20*few {
		t.Errorf("%s at %v, want a small window around %d", got, w, at)
	}
}

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
		bad := len(j.Overlaps)+j.Found[TokenFell]+j.Found[Misled] > 0
		got, at := checkLinear(&j, c.r, 2*time.Second, time.Minute, 1+int(seed%3))
		if got != NotProven && (got == Violated) != bad {
			t.Fatalf("seed %d, %+v: the oracle finds %v, porcupine %s at %v: %+v", seed, c.r, j.Findings, got, at, h)
		}
		count(got != NotProven, "decided")
		count(bad, "wrong")
		count(!bad, "right")
		count(len(j.Overlaps) > 0, "overlaps")
		count(j.Found[TokenFell] > 0, "tokens that fell")
		count(j.Found[Misled] > 0, "refusals of a free lock")
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
