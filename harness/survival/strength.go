package survival

// String says what locks of that strength do, behind "locks that".
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
