package zklock

import (
	"fmt"
	"time"

	"locklab/internal/zksession"
)

// ErrMargin is ErrUsage, returned by Dial if ClientOptions.Margin is negative or makes leases
// too short to be renewed, and by Lock if the servers grant a later session too little time.
var ErrMargin = fmt.Errorf("%w: margin", ErrUsage)

// term returns how long after a proof a session of that timeout is assumed to be alive.
func term(timeout, margin time.Duration) time.Duration {
	if margin == 0 {
		margin = timeout / 10
	}
	return timeout - margin
}

// leastTerm returns the shortest term of a usable lease. A contact proves the state lag before
// it, and the next contact comes lag later; the rest is for its answer.
func leastTerm(timeout, lag time.Duration) time.Duration { return 2*lag + timeout/20 }

// checkTerm returns ErrMargin if leases of this session would end although contacts succeed, or
// would never begin.
func (c *Client) checkTerm() error {
	timeout, lag := c.conn.SessionTimeout(), c.conn.Lag()
	most := timeout - leastTerm(timeout, lag)
	switch {
	case term(timeout, c.margin) >= leastTerm(timeout, lag):
		return nil
	case most <= 0:
		return fmt.Errorf("%w: none is left of a session timeout of %v with such ticks, whose servers may hear of a client %v late", ErrMargin, timeout, lag)
	default:
		return fmt.Errorf("%w: %v of a session timeout of %v; want at most %v", ErrMargin, c.margin, timeout, most)
	}
}

// checkTimes returns an error for impossible options, [Client.checkTerm] for a granted timeout.
func checkTimes(timeout, margin, tick time.Duration) error {
	switch {
	case timeout < 0 || timeout > 0 && timeout < time.Millisecond:
		return fmt.Errorf("%w: %v, want a millisecond or more, or 0 for the default", ErrSessionTimeout, timeout)
	case timeout > zksession.MaxSessionTimeout:
		return fmt.Errorf("%w: %v, want at most %v, the most that the protocol can say", ErrSessionTimeout, timeout, zksession.MaxSessionTimeout)
	case margin < 0:
		return fmt.Errorf("%w: %v, want 0 for the default or more", ErrMargin, margin)
	case timeout > 0 && margin >= timeout:
		return fmt.Errorf("%w: %v of a session timeout of %v", ErrMargin, margin, timeout)
	case tick < 0:
		return fmt.Errorf("%w: ticks of %v", ErrUsage, tick)
	}
	return nil
}
