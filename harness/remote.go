package harness

import (
	"context"
	"crypto/tls"
	"time"
)

// An Endpoint says where servers are and how to reach them.
type Endpoint struct {
	Kind string // KindRedis or KindZooKeeper

	// Addrs has one list of host:port per independent server or ensemble.
	// A ZooKeeper ensemble of three is one list of three; a Redlock over
	// five masters is five lists of one.
	Addrs [][]string

	// Cluster says that Addrs[0] are nodes of one Redis Cluster.
	Cluster bool `json:",omitempty"`

	// PIDs are the processes of the servers, in the order of Addrs, if the lab started
	// them on this machine; nil of others.
	PIDs []int

	Username string      `json:"-"` // never written to a file
	Password string      `json:"-"` // never written to a file
	TLS      *tls.Config `json:"-"` // nil for plain TCP

	// Roots are the certificates that TLS trusts, PEM, by which another process is told of
	// them; nil are those of the system.
	Roots []byte `json:"-"`

	// RootsFile is where Roots are on disk as long as the servers live, for programs that
	// read them from there; "" if nowhere.
	RootsFile string `json:"-"`

	// SessionTimeout is how long a ZooKeeper session outlives its client; 0
	// lets the lock choose. Lease is the same for locks kept by Redis.
	SessionTimeout time.Duration
	Lease          time.Duration
}

// A Remote is ONE client of a lock kept by servers: one connection pool to
// Redis, one session with ZooKeeper.
type Remote interface {
	// Join adds worker i to this client. Workers are numbered across all
	// clients of a run.
	Join(ctx context.Context, i int) (Session, error)

	// Close ends the client and everything it started. The caller closes its
	// sessions first.
	Close() error
}

// A Namer is a Remote that can take locks of other names by the same connections, as the
// clients of services do.
type Namer interface {
	Remote

	// Named returns the lock called key. It ends with the Remote that it came from:
	// its own Close does nothing.
	Named(key string) Remote
}

// A Session is one worker of a client. It is used by one goroutine at a time.
type Session interface {
	// Lock waits for the lock. When ctx ends it gives up, leaves nothing
	// behind that could block others, and returns an error for which
	// errors.Is(err, ctx.Err()) holds.
	Lock(ctx context.Context) (Lease, error)

	Close() error
}

// A TrySession is a Session that can also take the lock without waiting.
type TrySession interface {
	// TryLock makes one attempt; the error wraps ErrNotAcquired if another client
	// holds the lock.
	TryLock(ctx context.Context) (Lease, error)
}

// An RWSession is a Session of a lock that lets readers share; its Lock is the
// writer's. A variant has such sessions exactly if it claims Traits.ReadWrite.
type RWSession interface {
	Session

	// RLock waits for the lock as a reader: its lease may overlap with those
	// of other readers and with no writer's. In all else it is like Lock. Where
	// the lock has fencing tokens, a reader's is not less than that of the
	// writer before it and less than that of the next one; readers may have
	// equal ones.
	RLock(ctx context.Context) (Lease, error)
}

// A Lease is one acquisition of a remote lock.
type Lease interface {
	// Unlock releases the lock. It works under a cancelled ctx, whose
	// deadline it detaches from and replaces by a bound of its own. The error
	// wraps ErrNotHeld if the lock was lost or has been released.
	Unlock(ctx context.Context) error

	// Token is the fencing token, 0 where the lock has none. It rises
	// strictly in holding order; a resource that remembers the greatest token
	// seen can refuse a holder that was paused past its lease.
	Token() uint64

	// Done is closed when the lock is released or may have been lost.
	Done() <-chan struct{}

	// Err is nil while the lock is held, then why it ended: ErrReleased, or
	// an error that wraps ErrLost.
	Err() error

	// Deadline is until when the lock is surely held, on the local monotonic
	// clock, and false if only Done can tell.
	Deadline() (time.Time, bool)
}

// A Counter counts what a Remote sent and received on behalf of its lock.
type Counter interface{ Counts() Counts }

// Counts is wire traffic, whole messages.
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
