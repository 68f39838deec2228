package redislock

import (
	"context"
	"fmt"
	"time"
)

// The states of a lease, as far as its holder has a say.
const (
	stateHeld     = iota
	stateUnlocked // Unlock has been called, or what the lease is a part of has given it back
	stateRevoked  // the client has ended it and given it back
)

// limited returns what a Lock has returned, with a lease that lasts for MaxHold at most.
func (o Options) limited(l *Lease, err error) (*Lease, error) {
	if err == nil && o.MaxHold > 0 {
		l.limit(o.MaxHold)
	}
	return l, err
}

// limit ends l when it has lasted for d.
func (l *Lease) limit(d time.Duration) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.maxHold, l.most = d, l.c.clock.Now().Add(d)
	timer := time.AfterFunc(d, func() { l.c.task(l.overdue) })
	most := l.most
	context.AfterFunc(l.alive, func() {
		if timer.Stop() && !l.c.clock.Now().Before(most) { // it was late
			l.c.task(l.overdue)
		}
	})
}

// overdue ends l because it has lasted for MaxHold, and gives the lock back.
func (l *Lease) overdue() {
	_ = l.revoke(l.overdueErr()) // repeated in the background if it fails
}

// overdueErr returns why a lease has ended that has lasted for MaxHold.
func (l *Lease) overdueErr() error {
	return fmt.Errorf("%w: it has been held for %v, Options.MaxHold", ErrLost, l.maxHold)
}
