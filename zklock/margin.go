package zklock

import (
	"fmt"
	"math"
	"time"
)

// ErrMargin is ErrUsage, returned by Dial if ClientOptions.Margin is negative or leaves no
// lease that lasts from one proof that the session lives to the next. Lock returns
// it if the servers grant a later session so much less time.
var ErrMargin = fmt.Errorf("%w: margin", ErrUsage)

// term returns for how long after the time that is proven a session of that timeout
// is taken to live. All that is taken off the timeout is taken off here.
func term(timeout, margin time.Duration) time.Duration {
	if margin == 0 {
		margin = timeout / 10
	}
	return timeout - margin
}

// leastTerm returns how short the term of a usable lease can be, whose contacts
// prove what was lag before them: from what one proves to the next contact, lag
// later, and the rest for its answer to come.
func leastTerm(timeout, lag time.Duration) time.Duration { return 2*lag + timeout/20 }

// checkTerm returns ErrMargin if leases of this session would end though its
// contacts succeed, or never begin.
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

// longestTimeout is the greatest session timeout that a client can ask for: the
// protocol has 32 bits of milliseconds.
const longestTimeout = math.MaxInt32 * time.Millisecond

// checkTimes returns an error if no session could be as asked for. What the servers
// grant is for [Client.checkTerm].
func checkTimes(timeout, margin, tick time.Duration) error {
	switch {
	case timeout < 0 || timeout > 0 && timeout < time.Millisecond:
		return fmt.Errorf("%w: %v, want a millisecond or more, or 0 for the default", ErrSessionTimeout, timeout)
	case timeout > longestTimeout:
		return fmt.Errorf("%w: %v, want at most %v, the most that the protocol can say", ErrSessionTimeout, timeout, longestTimeout)
	case margin < 0:
		return fmt.Errorf("%w: %v, want 0 for the default or more", ErrMargin, margin)
	case timeout > 0 && margin >= timeout:
		return fmt.Errorf("%w: %v of a session timeout of %v", ErrMargin, margin, timeout)
	case tick < 0:
		return fmt.Errorf("%w: ticks of %v", ErrUsage, tick)
	}
	return nil
}
