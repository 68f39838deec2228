package redislock

import "errors"

// The errors of this package. Errors of the client library are wrapped as they
// are.
var (
	// ErrNotHeld is returned by Unlock if the lock was lost, or may have been, or has been
	// released before.
	ErrNotHeld = errors.New("redislock: lock not held")

	// ErrNotAcquired is returned by TryLock while another client holds the lock or waits
	// for it, and by a Lock whose context or Options.Wait has ended, together with the
	// error of the context: errors.Is reports both.
	ErrNotAcquired = errors.New("redislock: lock not acquired")

	// ErrLost is why a lease ended without Unlock.
	ErrLost = errors.New("redislock: lock lost")

	// ErrReleased is why a lease ended by Unlock.
	ErrReleased = errors.New("redislock: lock released")

	// ErrUnanswered is returned by Unlock if the server has not answered in time, or could
	// not be reached. The lease is over for its owner; the lock is being given back in the
	// background.
	ErrUnanswered = errors.New("redislock: the server has not answered yet; still trying")

	// ErrClosed is returned by the methods of a lock whose Client was closed or shut down.
	ErrClosed = errors.New("redislock: the client is closed")

	// ErrUsage is returned by the methods of a lock that was made with a bad option or
	// name. No request was sent.
	ErrUsage = errors.New("redislock: invalid configuration")
)
