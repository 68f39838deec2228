package redislock

import (
	"errors"
	"fmt"

	"locklab/harness"
)

// Suite lists every lock of the family.
var Suite = []*harness.Variant{
	queue,
	queuePubsub,
	reentrant,
	redisson12,
	fairRedisson,
	poll,
	poll1ms,
	poll5ms,
	poll20ms,
	poll100ms,
	pollJitter,
	pollExp,
	pollSpin,
	pubsub,
	careless,
	rw,
	semaphore,
	multi,
	redlock,
	cohort,
	token,
}

// The errors of this package. Errors of the client library are wrapped as they
// are.
var (
	// ErrNotHeld is returned by Unlock if the lock was lost or has been
	// released before.
	ErrNotHeld = fmt.Errorf("redislock: %w", harness.ErrNotHeld)

	// ErrNotAcquired is returned by TryLock while another client holds the lock, and
	// by a Lock whose context or Options.Wait has ended, together with the error of
	// the context.
	ErrNotAcquired = fmt.Errorf("redislock: %w", harness.ErrNotAcquired)

	// ErrLost is why a lease ended without Unlock.
	ErrLost = fmt.Errorf("redislock: %w", harness.ErrLost)

	// ErrReleased is why a lease ended by Unlock.
	ErrReleased = fmt.Errorf("redislock: %w", harness.ErrReleased)

	// ErrClosed is returned by the methods of a lock whose Client was closed.
	ErrClosed = errors.New("redislock: the client is closed")
)
