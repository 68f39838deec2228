package harness

import "errors"

// Errors that every remote lock wraps, so that callers can handle any lock alike.
var (
	ErrNotHeld     = errors.New("lock not held")         // Unlock of a lease that was lost or released
	ErrNotAcquired = errors.New("lock not acquired")     // TryLock while another worker holds the lock
	ErrLost        = errors.New("lock lost")             // Lease.Err: the lease ended without Unlock
	ErrReleased    = errors.New("lock released")         // Lease.Err: Unlock was called
	ErrUnavailable = errors.New("no server to talk to")  // no server, or no tool to start one: skip, and give the reason
	ErrUsage       = errors.New("invalid configuration") // the user's input is wrong: one line, exit status 2
)
