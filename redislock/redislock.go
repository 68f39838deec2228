package redislock

import (
	"errors"
	"fmt"

	"locklab/lock"
)

// The errors of this package. Errors of the client library are wrapped unchanged.
var (
	// ErrNotHeld is returned by Unlock if the lock was, or may have been, lost or released.
	ErrNotHeld = fmt.Errorf("redislock: %w", lock.ErrNotHeld)

	// ErrNotAcquired is returned by TryLock while another client holds the lock or waits for
	// it, and by Lock, with the error of its context, after ctx or Options.Wait has ended.
	ErrNotAcquired = fmt.Errorf("redislock: %w", lock.ErrNotAcquired)

	// ErrLost is the cause of a lease that ended without Unlock.
	ErrLost = fmt.Errorf("redislock: %w", lock.ErrLost)

	// ErrReleased is the cause of a lease that ended by Unlock.
	ErrReleased = fmt.Errorf("redislock: %w", lock.ErrReleased)

	// ErrUnanswered is returned by Unlock if the server has not answered in time or could not be
	// reached. The lease is over for its owner; the client releases the lock in the background.
	ErrUnanswered = errors.New("redislock: the server has not answered yet; still trying")

	// ErrClosed is returned by the methods of a lock whose Client was closed or shut down.
	ErrClosed = errors.New("redislock: the client is closed")

	// ErrUsage is returned, without a request, for an invalid option or name.
	ErrUsage = errors.New("redislock: invalid configuration")
)
