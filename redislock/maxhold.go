package redislock

// The states of a lease: how the holder's part of it ended.
const (
	stateHeld     = iota
	stateUnlocked // Unlock was called, or the lease was given back as part of another
	stateRevoked  // the client has ended it and given it back
)

// limited bounds l by MaxHold, unless err is the reason that there is no lease.
func (o Options) limited(l *Lease, err error) (*Lease, error) {
	if err != nil || o.MaxHold == 0 {
		return l, err
	}
	overdue := func() { _ = l.revoke(l.limit.Err(ErrLost)) } // repeated in the background if it fails
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.limit.Begin(l.alive, o.MaxHold, l.c.clock.Now, func() { l.c.task(overdue) })
	return l, nil
}
