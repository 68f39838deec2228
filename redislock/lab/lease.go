package lab

import (
	"context"
	"errors"
	"time"

	"locklab/internal/adapt"
)

var errTooLate = errors.New("the answer took longer than the lease")

// grant returns the lease of a lock that was requested at sent, for span or, if that is 0,
// without end. It fails if no time is left. free releases the lock; renew, if not nil, extends
// the lease to a whole one. Both report whether the lock was held.
func (p *process) grant(sent time.Time, span time.Duration, free, renew func(context.Context) (held bool, err error)) (*adapt.Lease, error) {
	if span == 0 {
		return adapt.NewLease(p.open, time.Time{}, free), nil
	}
	until := leaseEnd(sent, span)
	if !time.Now().Before(until) {
		return nil, errTooLate
	}
	l := adapt.NewLease(p.open, until, free)
	if renew != nil {
		p.spawn(func() {
			for p.pause(l.Context(), span/3) {
				renewOnce(l, span, renew)
			}
		})
	}
	return l, nil
}

func renewOnce(l *adapt.Lease, span time.Duration, renew func(context.Context) (held bool, err error)) {
	until, _ := l.Deadline()
	ctx, cancel := context.WithDeadline(l.Context(), until)
	defer cancel()
	sent := time.Now()
	held, err := renew(ctx)
	switch {
	case l.Err() != nil || err != nil:
	case held:
		l.Extend(leaseEnd(sent, span))
	default:
		l.Lose(adapt.ErrGone)
	}
}

// leaseEnd returns when a lease requested at sent ends, earlier than in the server by the clock
// tolerance, and by 20 ms, at most a tenth of the lease.
func leaseEnd(sent time.Time, span time.Duration) time.Time {
	return sent.Add(span - span/100 - 2*time.Millisecond - min(20*time.Millisecond, span/10))
}
