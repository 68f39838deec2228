package lock

import "errors"

// The errors that every lock returns. Each library wraps them in errors of the same names,
// which begin with the library's name.
var (
	// ErrNotHeld is returned by Unlock if the lock was lost or was released before.
	ErrNotHeld = errors.New("lock not held")

	// ErrNotAcquired is returned by TryLock while another client has the lock. A Lock whose
	// context has ended returns it together with the error of the context.
	ErrNotAcquired = errors.New("lock not acquired")

	// ErrLost is the cause of a lease that ended without Unlock.
	ErrLost = errors.New("lock lost")

	// ErrReleased is the cause of a lease that ended by Unlock.
	ErrReleased = errors.New("lock released")
)
