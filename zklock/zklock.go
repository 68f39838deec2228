package zklock

import (
	"errors"
	"fmt"
)

// The errors of this package. Errors of the client library are wrapped as they
// are, so that errors.Is(err, zk.ErrNoAuth) works.
var (
	// ErrNotHeld is returned by Unlock if the lock was lost or has been
	// released before.
	ErrNotHeld = errors.New("zklock: lock not held")

	// ErrNotAcquired is returned by TryLock while another client holds the lock or waits
	// for it, and by a Lock whose context or Options.Wait has ended, together with the
	// error of the context: errors.Is reports both.
	ErrNotAcquired = errors.New("zklock: lock not acquired")

	// ErrLost is why a lease ended without Unlock.
	ErrLost = errors.New("zklock: lock lost")

	// ErrReleased is why a lease ended by Unlock.
	ErrReleased = errors.New("zklock: lock released")

	// ErrSessionExpired is ErrLost because the servers ended the session.
	ErrSessionExpired = fmt.Errorf("%w: the session expired", ErrLost)

	// ErrSessionTimeout is ErrUsage, returned by Dial if the servers do not grant the
	// timeout that was asked for, or cannot be asked for it.
	ErrSessionTimeout = fmt.Errorf("%w: session timeout", ErrUsage)

	// ErrUsage is in every error about an option, a path or a server's address that
	// cannot be: the servers are not asked, or have refused it.
	ErrUsage = errors.New("zklock: invalid configuration")

	// ErrPath is ErrUsage where a lock would be at a path that cannot be: the
	// servers are not asked.
	ErrPath = fmt.Errorf("%w: bad path", ErrUsage)

	// ErrUnavailable is returned by Dial if it got no session before its context ended.
	ErrUnavailable = errors.New("zklock: no server to talk to")

	// ErrNoAuth comes with zk.ErrNoAuth and says what to do about it.
	ErrNoAuth = errors.New("zklock: the ACL of a node refuses this client: set Username and Password, or ACL, in ClientOptions")

	// ErrUnanswered is returned by Unlock if no server has answered in time. The
	// lock is being given back in the background.
	ErrUnanswered = errors.New("zklock: no server has answered yet; still trying")

	// ErrClosed is returned by the methods of a lock whose Client was closed or shut down.
	ErrClosed = errors.New("zklock: the client is closed")
)
