package zklock

import (
	"errors"
	"fmt"

	"locklab/harness"
)

// Suite lists every lock of the family. TestHistorical shows what is wrong with
// the historical ones.
var Suite = []*harness.Variant{
	handoffVariant,
	fair,
	curator,
	herd,
	rw,
	rwCurator,
	semaphore,
	semaphoreV2,
	multi,
	twoLevel,
	localFirst,
	cohort,
	poll,
	persistent,
	writeLock,
	booleanMutex,
	fairHistorical,
	writeLockHistorical,
	booleanMutexHistorical,
}

// The errors of this package. Errors of the client library are wrapped as they
// are, so that errors.Is(err, zk.ErrNoAuth) works.
var (
	// ErrNotHeld is returned by Unlock if the lock was lost or has been
	// released before.
	ErrNotHeld = fmt.Errorf("zklock: %w", harness.ErrNotHeld)

	// ErrNotAcquired is returned by TryLock while another holds the lock.
	ErrNotAcquired = fmt.Errorf("zklock: %w", harness.ErrNotAcquired)

	// ErrLost is why a lease ended without Unlock.
	ErrLost = fmt.Errorf("zklock: %w", harness.ErrLost)

	// ErrReleased is why a lease ended by Unlock.
	ErrReleased = fmt.Errorf("zklock: %w", harness.ErrReleased)

	// ErrSessionExpired is ErrLost because the servers ended the session.
	ErrSessionExpired = fmt.Errorf("%w: the session expired", ErrLost)

	// ErrSessionTimeout is returned by Dial if the servers do not grant the
	// timeout that was asked for, or cannot be asked for it.
	ErrSessionTimeout = errors.New("zklock: session timeout")

	// ErrPath is returned where a lock would be at a path that cannot be: the
	// servers are not asked.
	ErrPath = errors.New("zklock: bad path")

	// ErrNoAuth comes with zk.ErrNoAuth and says what to do about it.
	ErrNoAuth = errors.New("zklock: the ACL of a node refuses this client: set Username and Password, or ACL, in ClientOptions")

	// ErrUnanswered is returned by Unlock if no server has answered in time. The
	// lock is being given back in the background.
	ErrUnanswered = errors.New("zklock: no server has answered yet; still trying")

	// ErrClosed is returned by methods of a Mutex whose Client was closed.
	ErrClosed = errors.New("zklock: the client is closed")
)
