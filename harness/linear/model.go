package linear

import (
	"strings"

	"github.com/anishathalye/porcupine"

	"locklab/harness/oracle"
)

// A state is that of a lock. It need not know its holders by name where a release
// is called after its grant has returned.
type state struct {
	writers, readers int
	greatest         uint64 // token of a holder so far
	written          uint64 // of a writer

	// unknown: a client that does not know of it may hold the lock. That keeps no
	// other client out, because its hold may end at any time, but it may have been
	// why an attempt was refused.
	unknown bool

	// points are the holds of one moment, of which the two may look to be the other
	// way round.
	points string
}

func start() state { return state{} }

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

// kind is what an operation asked of the lock, with its outcome.
type kind uint8

const (
	acquire kind = iota
	release
	refuse
	attempt // without a known outcome
)

// input is an operation.
type input struct {
	kind   kind
	shared bool
	token  uint64 // of one that counts, else 0
	point  string // names a hold of one moment, and ends with a comma
}

// step is what the operation does to the lock, and whether a lock allows it.
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

// behind reports whether in's token does not rise.
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

// model returns the lock with rules r that begins in s. An attempt without a known
// outcome has taken effect or not; a deterministic model would have to decide for
// one, and find histories wrong that are right. So does s.unknown.
func model(s state, r oracle.Rules) porcupine.Model {
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
