package zklock

// The states of a lease: how it was given back.
const (
	stateHeld     = iota
	stateUnlocked // by Unlock, or dropped because nobody waits for it
	stateOverdue  // by Options.MaxHold or Shutdown
)

func (l *Lease) overdue() {
	if l.revoke(l.limit.Err(ErrLost)) {
		l.q.c.spawn(func() { l.release() })
	}
}

func (l *Lease) revoke(cause error) bool {
	held := l.state.CompareAndSwap(stateHeld, stateOverdue)
	if held {
		l.q.c.lose(l, cause)
	}
	return held
}
