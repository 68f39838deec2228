package zklock

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrMargin is returned by Dial if ClientOptions.Margin is negative or leaves no
// lease that lasts from one answer of the servers to the next. Lock returns it
// if the servers grant a later session so much less time.
var ErrMargin = errors.New("zklock: margin")

// term returns for how long after a contact a session of that timeout is taken
// to live. All that is taken off the timeout is taken off here.
func term(timeout, margin time.Duration) time.Duration {
	if margin == 0 {
		margin = timeout / 10
	}
	return timeout - margin
}

// leastTerm returns how short the term of a usable lease can be. The client
// hears from a server at least every third of the timeout, which is when the
// library pings; the rest is for the answer to come.
func leastTerm(timeout time.Duration) time.Duration { return timeout / 2 }

// checkTerm returns ErrMargin if leases of a session of that timeout would end
// though the servers answer.
func checkTerm(timeout, margin time.Duration) error {
	if t, least := term(timeout, margin), leastTerm(timeout); t < least {
		return fmt.Errorf("%w: %v of a session timeout of %v; want at most %v", ErrMargin, margin, timeout, margin-(least-t))
	}
	return nil
}

// longestTimeout is the greatest session timeout that a client can ask for: the
// protocol has 32 bits of milliseconds.
const longestTimeout = math.MaxInt32 * time.Millisecond

// checkTimes returns an error if no session could be as asked for. A timeout of 0
// is whatever the servers grant, by which the margin is judged then.
func checkTimes(timeout, margin time.Duration) error {
	switch {
	case timeout < 0 || timeout > 0 && timeout < time.Millisecond:
		return fmt.Errorf("%w: %v, want a millisecond or more, or 0 for the default", ErrSessionTimeout, timeout)
	case timeout > longestTimeout:
		return fmt.Errorf("%w: %v, want at most %v, the most that the protocol can say", ErrSessionTimeout, timeout, longestTimeout)
	case margin < 0:
		return fmt.Errorf("%w: %v, want 0 for the default or more", ErrMargin, margin)
	case timeout > 0:
		return checkTerm(timeout, margin)
	}
	return nil
}
