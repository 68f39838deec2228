package lock

import (
	"context"
	"fmt"
	"time"
)

// A Limit ends a lease that is held for too long; see MaxHold. The zero value is no limit.
type Limit struct {
	most time.Duration
	end  time.Time
}

// Begin sets m to most from now, and calls over then, unless alive has ended before. A timer is
// late after a suspend of the machine: if alive ends after the limit, over is called too.
func (m *Limit) Begin(alive context.Context, most time.Duration, now func() time.Time, over func()) {
	limit := Limit{most, now().Add(most)}
	*m = limit
	timer := time.AfterFunc(most, over)
	context.AfterFunc(alive, func() {
		if timer.Stop() && limit.Over(now()) {
			over()
		}
	})
}

// Over reports whether the limit ends at that time or before.
func (m Limit) Over(at time.Time) bool { return m.most > 0 && !at.Before(m.end) }

// Bound returns until, or the end of the limit if that is earlier.
func (m Limit) Bound(until time.Time) time.Time {
	if m.Over(until) {
		return m.end
	}
	return until
}

// Err returns the error of a lease that is over, which wraps lost.
func (m Limit) Err(lost error) error {
	return fmt.Errorf("%w: it has been held for %v, Options.MaxHold", lost, m.most)
}
