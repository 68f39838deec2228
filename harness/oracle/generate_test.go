package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// A simulation makes the history of a correct lock. Times are small, so that many are
// equal.
type simulation struct {
	rng     *rand.Rand
	h       History
	idle    []int64 // by worker: the earliest time of its next request
	free    int64   // the earliest time of the server's next grant
	token   uint64
	readers bool
}

func simulate(rng *rand.Rand) History {
	s := simulation{rng: rng, idle: make([]int64, 2+rng.IntN(5)), readers: rng.IntN(3) == 0}
	for range 3 + rng.IntN(14) {
		switch n := rng.IntN(20); {
		case n < 15:
			s.acquire(rng.IntN(len(s.idle)))
		case n < 18:
			s.fail(rng.IntN(len(s.idle)))
		case s.readers:
			s.share()
		}
	}
	if w := rng.IntN(len(s.idle)); rng.IntN(2) == 0 {
		s.at(s.idle[w]+s.jitter(9), w, Asked, 0) // without an answer
	}
	s.h.Sort()
	return s.h
}

func (s *simulation) jitter(n int64) int64 { return s.rng.Int64N(n) }

func (s *simulation) at(at int64, w int, k EventKind, token uint64) *Event {
	s.h = append(s.h, Event{At: at, Worker: w, Kind: k, Token: token})
	return &s.h[len(s.h)-1]
}

func (s *simulation) ask(w int, k EventKind) (asked, granted int64) {
	asked = max(s.idle[w], s.free-s.jitter(12)+s.jitter(6))
	s.at(asked, w, k, 0)
	return asked, max(asked, s.free) + s.jitter(3)
}

func (s *simulation) acquire(w int) {
	kind := Asked
	if s.rng.IntN(4) == 0 {
		kind = Tried
	}
	_, granted := s.ask(w, kind)
	s.token += 1 + uint64(s.rng.IntN(2))
	end := s.hold(w, granted, false)
	if s.rng.IntN(2) == 0 {
		s.refuse(granted, end)
	}
	s.free = end
}

// hold returns when the server took the lock from w, to which it was granted.
func (s *simulation) hold(w int, granted int64, shared bool) (end int64) {
	seen := granted + s.jitter(3)
	s.at(seen, w, Granted, s.token).Shared = shared
	left := seen + s.jitter(9)
	end = left + s.jitter(4)
	switch s.rng.IntN(10) {
	case 0:
		s.at(left, w, Told, 0)
		s.idle[w] = left
		if s.rng.IntN(2) == 0 {
			s.at(left, w, Releasing, 0)
			s.idle[w] = left + s.jitter(4)
			s.at(s.idle[w], w, Released, 0).Text = "not held"
		}
	case 1:
		s.at(left, w, Killed, 0)
		s.idle[w] = left
	case 2:
		s.at(left, w, Releasing, 0)
		s.idle[w] = left + s.jitter(4)
		s.at(s.idle[w], w, Released, 0).Text = "timeout"
	default:
		s.at(left, w, Releasing, 0)
		s.idle[w] = end + s.jitter(3)
		s.at(s.idle[w], w, Released, 0)
	}
	return end
}

func (s *simulation) refuse(from, to int64) {
	w := s.rng.IntN(len(s.idle))
	tried, refused := max(s.idle[w], from-s.jitter(3)), to+s.jitter(3)
	if tried > to {
		return
	}
	if moment := max(tried, from); s.rng.IntN(2) == 0 {
		refused = moment + s.jitter(2)
	}
	e := s.at(tried, w, Tried, 0)
	e.Shared = s.readers && s.rng.IntN(2) == 0
	s.at(refused, w, Refused, 0)
	s.idle[w] = refused
}

func (s *simulation) fail(w int) {
	asked, granted := s.ask(w, Asked)
	k := Failed
	if s.rng.IntN(3) == 0 {
		k = Killed
	}
	s.idle[w] = asked + s.jitter(9)
	s.at(s.idle[w], w, k, 0)
	if s.rng.IntN(2) == 0 {
		s.free = granted + s.jitter(6)
		s.refuse(granted, s.free)
	}
}

func (s *simulation) share() {
	least, end := s.token+1, s.free
	for w := range s.idle {
		if s.rng.IntN(2) == 0 {
			asked, granted := s.ask(w, Asked)
			s.h[len(s.h)-1].Shared = true
			s.token = least + uint64(s.rng.IntN(3)) // readers' tokens are in any order
			end = max(end, s.hold(w, max(asked, granted), true))
		}
	}
	s.free, s.token = end, least+2
}

// A mutator usually breaks a history.
type mutator struct {
	name string
	do   func(rng *rand.Rand, h History) History
}

func pick(rng *rand.Rand, h History, kinds ...EventKind) int {
	var found []int
	for i := range h {
		if slices.Contains(kinds, h[i].Kind) {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		return -1
	}
	return found[rng.IntN(len(found))]
}

func on(do func(rng *rand.Rand, h History, i int) History, kinds ...EventKind) func(*rand.Rand, History) History {
	return func(rng *rand.Rand, h History) History {
		if i := pick(rng, h, kinds...); i >= 0 {
			h = do(rng, h, i)
		}
		return h
	}
}

func neighbour(h History, i, d int) int {
	for k := i + d; k >= 0 && k < len(h); k += d {
		if h[k].Worker == h[i].Worker {
			return k
		}
	}
	return -1
}

// move shifts the time of event i, between the neighbouring events of its worker.
func move(h History, i int, by int64) {
	at := h[i].At + by
	if k := neighbour(h, i, -1); k >= 0 {
		at = max(at, h[k].At)
	}
	if k := neighbour(h, i, 1); k >= 0 {
		at = min(at, h[k].At)
	}
	h[i].At = at
}

var mutators = []mutator{
	{"a grant sooner", on(func(rng *rand.Rand, h History, i int) History {
		move(h, i, -1-rng.Int64N(12))
		return h
	}, Granted)},
	{"an end later", on(func(rng *rand.Rand, h History, i int) History {
		move(h, i, 1+rng.Int64N(12))
		return h
	}, Releasing, Released, Told, Killed)},
	{"a call later", on(func(rng *rand.Rand, h History, i int) History {
		move(h, i, 1+rng.Int64N(12))
		return h
	}, Asked, Tried)},
	{"a refusal moved", on(func(rng *rand.Rand, h History, i int) History {
		by := rng.Int64N(60) - 30
		h[i].At += by
		if k := neighbour(h, i, -1); k >= 0 {
			h[k].At += by
		}
		return h
	}, Refused)},
	{"an end is missing", on(func(_ *rand.Rand, h History, i int) History {
		if k := neighbour(h, i, 1); k >= 0 && h[k].Kind == Released {
			h = slices.Delete(h, k, k+1)
		}
		return slices.Delete(h, i, i+1)
	}, Releasing, Told, Killed)},
	{"granted twice", on(func(rng *rand.Rand, h History, i int) History {
		e := h[i]
		e.Worker, e.At, e.Token = 90, e.At+rng.Int64N(9), e.Token+uint64(rng.IntN(2))
		return append(h, e)
	}, Granted)},
	{"tokens exchanged", on(func(rng *rand.Rand, h History, i int) History {
		k := pick(rng, h, Granted)
		h[i].Token, h[k].Token = h[k].Token, h[i].Token
		return h
	}, Granted)},
	{"a token repeated", on(func(rng *rand.Rand, h History, i int) History {
		h[i].Token = h[pick(rng, h, Granted)].Token
		return h
	}, Granted)},
	{"refused", func(rng *rand.Rand, h History) History {
		at := h[0].At + rng.Int64N(1+h[len(h)-1].At-h[0].At)
		return append(h, Event{At: at, Worker: 91, Kind: Tried, Shared: rng.IntN(4) == 0},
			Event{At: at + rng.Int64N(3), Worker: 91, Kind: Refused})
	}},
	{"refused, not failed", on(func(_ *rand.Rand, h History, i int) History {
		h[i].Kind = Refused
		return h
	}, Failed)},
	{"failed, not refused", on(func(_ *rand.Rand, h History, i int) History {
		h[i].Kind = Failed
		return h
	}, Refused)},
	{"a writer, not a reader", on(func(_ *rand.Rand, h History, i int) History {
		h[i].Shared = !h[i].Shared
		return h
	}, Granted)},
	{"a late grant", on(func(_ *rand.Rand, h History, i int) History {
		h[i].Deadline, h[i].Token = max(1, h[i].At-1), 1
		return h
	}, Granted)},
}

func dump(h History) (s string) {
	for _, e := range h {
		s += fmt.Sprintf("%d %d %s token %d shared %v %s\n", e.At, e.Worker, e.Kind, e.Token, e.Shared, e.Text)
	}
	return s
}
