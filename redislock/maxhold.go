package redislock

import (
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
		l.limitTo(o.MaxHold)
	}
	return l, err
}

func (l *Lease) limitTo(d time.Duration) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.limit.Begin(l.alive, d, l.c.clock.Now, func() { l.c.task(l.overdue) })
}

func (l *Lease) overdue() {
	_ = l.revoke(l.limit.Err(ErrLost)) // repeated in the background if it fails
}
