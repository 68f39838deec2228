package zklock

import (
	"context"
	"fmt"
	"time"
)

// The states of a lease, as to what gives it back.
const (
	stateHeld     = iota
	stateUnlocked // Unlock, or what drops a lease that nothing waits for any more
	stateOverdue  // Options.MaxHold is over, or Shutdown
)

// limit lets l last for most, from now. It is called before Lock returns l.
func (l *Lease) limit(most time.Duration) {
	l.maxHold, l.until = most, l.c.clock.Now().Add(most)
	timer := time.AfterFunc(most, l.overdue)
	context.AfterFunc(l.alive, func() {
		if timer.Stop() && !l.c.clock.Now().Before(l.until) { // it was late
			l.overdue()
		}
	})
}

// bounded returns until, or when MaxHold is over if that is sooner.
func (l *Lease) bounded(until time.Time) time.Time {
	if l.maxHold > 0 && l.until.Before(until) {
		return l.until
	}
	return until
}

// overdue ends l because it has lasted for MaxHold, and gives the lock back.
func (l *Lease) overdue() {
	if l.revoke(l.overdueErr()) {
		l.c.spawn(func() { l.release() })
	}
}

// revoke ends l before its owner does, and reports false if that was late.
func (l *Lease) revoke(cause error) bool {
	held := l.state.CompareAndSwap(stateHeld, stateOverdue)
	if held {
		l.c.lose(l, cause)
	}
	return held
}

// overdueErr returns why a lease has ended that has lasted for MaxHold.
func (l *Lease) overdueErr() error {
	return fmt.Errorf("%w: it has been held for %v, Options.MaxHold", ErrLost, l.maxHold)
}
