package harness

import (
	"context"
	"crypto/tls"
	"time"
)

// An Endpoint has the addresses of servers and the means to reach them.
type Endpoint struct {
	Kind string // KindRedis or KindZooKeeper

	// Addrs has one list of host:port per independent server or ensemble. A ZooKeeper ensemble
	// of three is one list of three; a Redlock over five masters is five lists of one.
	Addrs [][]string

	// Cluster reports that Addrs[0] are nodes of one Redis Cluster.
	Cluster bool `json:",omitempty"`

	// PIDs are the server processes in the order of Addrs, if the lab started them on
	// this machine; otherwise nil.
	PIDs []int

	Username string      `json:"-"` // never written to a file
	Password string      `json:"-"` // never written to a file
	TLS      *tls.Config `json:"-"` // nil for plain TCP

	// Roots are the certificates that TLS trusts, in PEM, for handing them to another
	// process; nil is the system's.
	Roots []byte `json:"-"`

	// RootsFile is the file that holds Roots during the life of the servers, for
	// programs that read them from a file; "" if there is no file.
	RootsFile string `json:"-"`

	// SessionTimeout is how long a ZooKeeper session outlives its client; 0 lets the
	// lock choose. Lease is the equivalent for Redis locks.
	SessionTimeout time.Duration
	Lease          time.Duration
}

// A Remote is ONE client of a distributed lock: one connection pool to Redis, one session
// with ZooKeeper.
type Remote interface {
	// Join adds worker i to this client. Workers are numbered across all clients of a run.
	Join(ctx context.Context, i int) (Session, error)

	// Close ends the client and everything it started. The caller closes its sessions first.
	Close() error
}

// A Session is one worker of a client. It is used by one goroutine at a time.
type Session interface {
	// Lock waits for the lock. When ctx ends it gives up, leaves nothing behind that could
	// block others, and returns an error for which errors.Is(err, ctx.Err()) holds.
	Lock(ctx context.Context) (Lease, error)

	Close() error
}

// A TrySession is a Session that can also take the lock without waiting.
type TrySession interface {
	// TryLock makes one attempt; the error wraps ErrNotAcquired if another client
	// holds the lock.
	TryLock(ctx context.Context) (Lease, error)
}

// An RWSession is a Session of a lock that lets readers share; its Lock is the writer's.
// A variant has such sessions if and only if it claims Traits.ReadWrite.
type RWSession interface {
	Session

	// RLock waits for the lock as a reader: its lease may overlap with leases of
	// readers, but not of writers. Otherwise it is like Lock. If the lock has fencing
	// tokens, a reader's token is at least the previous writer's and less than the
	// next writer's; readers may have equal tokens.
	RLock(ctx context.Context) (Lease, error)
}

// A Lease is one acquisition of a remote lock.
type Lease interface {
	// Unlock releases the lock. It works under a cancelled ctx: it ignores the
	// deadline of ctx and uses its own bound. The error wraps ErrNotHeld if the lock
	// was lost or has been released.
	Unlock(ctx context.Context) error

	// Token is the fencing token, 0 if the lock has none. It rises strictly in
	// holding order. A resource that remembers the greatest token seen can refuse a
	// holder that was paused past its lease.
	Token() uint64

	// Done is closed when the lock is released or may have been lost.
	Done() <-chan struct{}

	// Err is nil while the lock is held. Then it is ErrReleased or wraps ErrLost.
	Err() error

	// Deadline returns the time until which the lock is surely held, on the local
	// monotonic clock. It returns false if only Done can report the loss.
	Deadline() (time.Time, bool)
}

// Counts is wire traffic in whole messages.
type Counts struct {
	Requests      uint64 `json:"requests"`      // commands or packets sent, without keep-alives
	Notifications uint64 `json:"notifications"` // messages the server sent unasked: watch events, published messages
}

// Sub returns c - d.
func (c Counts) Sub(d Counts) Counts {
	return Counts{c.Requests - d.Requests, c.Notifications - d.Notifications}
}

// Add returns c + d.
func (c Counts) Add(d Counts) Counts {
	return Counts{c.Requests + d.Requests, c.Notifications + d.Notifications}
}
