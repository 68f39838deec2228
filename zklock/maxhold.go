package zklock

import (
	"context"
	"fmt"
	"time"
)

// The states of a lease: how it was given back.
const (
	stateHeld     = iota
	stateUnlocked // by Unlock, or dropped because nobody waits for it
	stateOverdue  // by Options.MaxHold or Shutdown
)

// limit bounds l to most from now. It is called before Lock returns l.
func (l *Lease) limit(most time.Duration) {
	l.maxHold, l.until = most, l.c.clock.Now().Add(most)
	timer := time.AfterFunc(most, l.overdue)
	context.AfterFunc(l.alive, func() {
		if timer.Stop() && !l.c.clock.Now().Before(l.until) { // it was late
			l.overdue()
		}
	})
}

func (l *Lease) bounded(until time.Time) time.Time {
	if l.maxHold > 0 && l.until.Before(until) {
		return l.until
	}
	return until
}

func (l *Lease) overdue() {
	if l.revoke(l.overdueErr()) {
		l.c.spawn(func() { l.release() })
	}
}

// revoke ends l before its owner does. It returns false if the owner was first.
func (l *Lease) revoke(cause error) bool {
	held := l.state.CompareAndSwap(stateHeld, stateOverdue)
	if held {
		l.c.lose(l, cause)
	}
	return held
}

func (l *Lease) overdueErr() error {
	return fmt.Errorf("%w: it has been held for %v, Options.MaxHold", ErrLost, l.maxHold)
}
