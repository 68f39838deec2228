package oracle

import (
	"strings"

	"github.com/anishathalye/porcupine"
)

// A state is the state of a lock.
type state struct {
	writers, readers int
	greatest         uint64 // greatest token of a holder
	written          uint64 // of a writer

	// unknown: an unaware client may hold the lock. That keeps no other client out,
	// because its hold may end at any time, but it may explain a refusal.
	unknown bool

	// points are the holds of one moment, whose two operations may appear in reverse order.
	points string
}

func (s state) hash() uint64 {
	h := uint64(s.writers)<<32 ^ uint64(s.readers)<<1
	if s.unknown {
		h ^= 1
	}
	for _, x := range [...]uint64{s.greatest, s.written} {
		h = (h ^ x) * 0x9e3779b97f4a7c15
	}
	return h
}

type kind uint8

const (
	acquire kind = iota
	release
	refuse
	attempt // with unknown outcome
)

type input struct {
	kind   kind
	shared bool
	token  uint64 // 0 if it does not count
	point  string // name of a hold of one moment, with a final comma
}

func (s state) step(in input, permits int, fenced bool) (state, bool) {
	others := s.readers
	if in.shared {
		others = s.writers
	}
	full := s.writers+s.readers >= permits && (permits > 1 || !in.shared)
	switch in.kind {
	case acquire:
		if others > 0 || full || fenced && in.token != 0 && s.behind(in) {
			return s, false
		}
		s.hold(in)
	case release:
		before, after, found := strings.Cut(","+s.points, ","+in.point)
		if in.point != "" && !found {
			return s, false
		}
		if in.point != "" {
			s.points = strings.TrimPrefix(before+","+after, ",")
		}
		if in.shared {
			s.readers--
		} else {
			s.writers--
		}
	case refuse:
		return s, others > 0 || full || s.unknown
	}
	return s, true
}

func (s state) behind(in input) bool {
	if in.shared {
		return in.token < s.written
	}
	return in.token <= s.greatest
}

func (s *state) hold(in input) {
	s.points += in.point
	s.greatest = max(s.greatest, in.token)
	if in.shared {
		s.readers++
		return
	}
	s.writers++
	s.written = max(s.written, in.token)
}

// model returns the lock with rules r that begins in s. An attempt with unknown outcome
// has taken effect or not. A deterministic model would have to choose, and reject correct
// histories. The same holds for s.unknown.
func model(s state, r Rules) porcupine.Model {
	permits := max(1, r.Permits)
	m := porcupine.NondeterministicModel{
		Init: func() []any {
			known := s
			known.unknown = false
			if s.unknown {
				return []any{known, s}
			}
			return []any{known}
		},
		Step: func(st, in, _ any) []any {
			s, op := st.(state), in.(input)
			if op.kind == attempt {
				took := s
				took.unknown = true
				return []any{s, took}
			}
			if s, ok := s.step(op, permits, r.Fenced); ok {
				return []any{s}
			}
			return nil
		},
		Hash: func(st any) uint64 { return st.(state).hash() },
	}
	return m.ToModel()
}
