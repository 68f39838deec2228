package zklock

import (
	"errors"
	"fmt"

	"locklab/lock"
)

// The errors of this package, which wrap the library's unchanged, such as zk.ErrNoAuth.
var (
	// ErrNotHeld is returned by Unlock if the lock was lost or was released before.
	ErrNotHeld = fmt.Errorf("zklock: %w", lock.ErrNotHeld)

	// ErrNotAcquired is returned by TryLock while another client holds the lock or waits for
	// it, and by Lock, with the error of its context, after ctx or Options.Wait has ended.
	ErrNotAcquired = fmt.Errorf("zklock: %w", lock.ErrNotAcquired)

	// ErrLost is the cause of a lease that ended without Unlock.
	ErrLost = fmt.Errorf("zklock: %w", lock.ErrLost)

	// ErrReleased is the cause of a lease that ended by Unlock.
	ErrReleased = fmt.Errorf("zklock: %w", lock.ErrReleased)

	// ErrSessionExpired is ErrLost because the servers ended the session.
	ErrSessionExpired = fmt.Errorf("%w: the session expired", ErrLost)

	// ErrSessionTimeout is ErrUsage, returned by Dial if the servers do not grant the requested
	// timeout, or it is impossible.
	ErrSessionTimeout = fmt.Errorf("%w: session timeout", ErrUsage)

	// ErrUsage is in every error about an invalid option, path or server address.
	ErrUsage = errors.New("zklock: invalid configuration")

	// ErrPath is ErrUsage for an invalid path of a lock. No request was sent.
	ErrPath = fmt.Errorf("%w: bad path", ErrUsage)

	// ErrUnavailable is returned by Dial if it got no session before its context ended.
	ErrUnavailable = errors.New("zklock: no server to talk to")

	// ErrNoAuth is returned together with zk.ErrNoAuth and contains advice.
	ErrNoAuth = errors.New("zklock: the ACL of a node refuses this client: set Username and Password, or ACL, in ClientOptions")

	// ErrUnanswered is returned by Unlock without an answer in time. The client releases the
	// lock in the background.
	ErrUnanswered = errors.New("zklock: no server has answered yet; still trying")

	// ErrClosed is returned by the methods of a lock whose Client was closed or shut down.
	ErrClosed = errors.New("zklock: the client is closed")
)
