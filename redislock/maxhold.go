package redislock

import (
	"context"
	"fmt"
	"time"
)

// The states of a lease: how the holder's part of it ended.
const (
	stateHeld     = iota
	stateUnlocked // Unlock was called, or the lease was given back as part of another
	stateRevoked  // the client has ended it and given it back
)

func (o Options) limited(l *Lease, err error) (*Lease, error) {
	if err == nil && o.MaxHold > 0 {
		l.limit(o.MaxHold)
	}
	return l, err
}

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

func (l *Lease) overdue() {
	_ = l.revoke(l.overdueErr()) // repeated in the background if it fails
}

func (l *Lease) overdueErr() error {
	return fmt.Errorf("%w: it has been held for %v, Options.MaxHold", ErrLost, l.maxHold)
}
