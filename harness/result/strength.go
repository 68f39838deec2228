package result

import "strings"

// Of describes the ability of n locks of that strength, to follow "locks that".
func (s Strength) Of(n int) string {
	text := s.String()
	if n != 1 {
		return text
	}
	for _, p := range [][2]string{{"survive ", "survives "}, {"are ", "is "}, {"were ", "was "}} {
		if rest, ok := strings.CutPrefix(text, p[0]); ok {
			return p[1] + rest
		}
	}
	return text
}

// String describes the ability of locks of that strength, to follow "locks that".
func (s Strength) String() string {
	switch s {
	case Strong:
		return "survive the loss of a server without two holders, with tokens that refuse a paused holder"
	case Survives:
		return "survive the loss of a server without two holders"
	case Fenced:
		return "are safe where the resource checks tokens"
	case Guarded:
		return "are safe from a paused holder where the resource checks tokens, until a failover"
	case Weak:
		return "were tested, and gave neither guarantee"
	}
	return "were not tested for failures"
}
