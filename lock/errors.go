package lock

import "errors"

// The errors of every lock; each library wraps them in its own errors of the same names.
var (
	// ErrNotHeld is returned by Unlock if the lock was lost or was released before.
	ErrNotHeld = errors.New("lock not held")

	// ErrNotAcquired is returned while another client has the lock; Lock adds the error of ctx.
	ErrNotAcquired = errors.New("lock not acquired")

	// ErrLost is the cause of a lease that ended without Unlock.
	ErrLost = errors.New("lock lost")

	// ErrReleased is the cause of a lease that ended by Unlock.
	ErrReleased = errors.New("lock released")
)
