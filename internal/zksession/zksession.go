package zksession

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// ErrNoSession is returned by [Connect] if it got no session in time.
var ErrNoSession = errors.New("no session")

// ErrAuthentication is returned by [Connect] if the servers require another authentication.
var ErrAuthentication = errors.New("the servers require clients to authenticate (enforce.auth.enabled or sessionRequireClientSASLAuth): set user name and password if they allow the scheme digest; SASL is not supported")

// DefaultSessionTimeout is the default: longer than a garbage collection or an election.
const DefaultSessionTimeout = 10 * time.Second

// MaxSessionTimeout is the protocol's maximum.
const MaxSessionTimeout = math.MaxInt32 * time.Millisecond

// Options configures a connection.
type Options struct {
	Servers            []string      // host:port of the ensemble's servers; the default port is 2181
	SessionTimeout     time.Duration // requested; 0 is DefaultSessionTimeout
	Username, Password string        // digest authentication; none if Username is empty
	TLS                *tls.Config   // nil for plain TCP; without ServerName each server needs a certificate for its own host

	// OnEvent, if not nil, is called with every event of the connection, in order, and misses
	// none. It must not block or call the connection.
	OnEvent func(zk.Event)

	// Counter counts the traffic; nil is a new one.
	Counter *Counter

	// Now is the clock of a [Proof]; nil is time.Now.
	Now func() time.Time

	// Tick is the tickTime of the servers, if they grant sessions of less than two ticks; see
	// [Conn.Lag]. 0 if they do not.
	Tick time.Duration

	lookup func(ctx context.Context, host string) ([]string, error) // for tests; nil is the system's
}

// A Conn is a client of a ZooKeeper ensemble: one session and connection at a time, renewed.
type Conn struct {
	*zk.Conn
	counter *Counter
	events  <-chan zk.Event // closed when the library's last goroutine has ended

	clock    func() time.Time // nil is time.Now
	timeout  atomic.Int64     // ns, as negotiated
	zxid     atomic.Int64     // see [Conn.Zxid]
	tick     time.Duration
	hosts    *hosts
	entering atomic.Bool // see enter

	mu sync.Mutex
	link
	requests

	dialing context.Context // ends with Close
	stop    context.CancelFunc
}

// A link is the state of the session at the servers. Guarded by Conn.mu.
type link struct {
	since   time.Time // see [Proof]
	now     *conn     // the latest TCP connection
	refused error     // why there is no session
	hello   []byte    // the latest handshake
	shakes  handshakes
	debt    debt
}

// requests are the inspected requests of a session.
type requests struct {
	creations sync.Map // paths of running creations, to the czxid, 0 before the reply
	bound     sync.Map // paths of running deletions, to their *conn; see [Conn.DeleteOn]
	longest   longestPath
}

// Connect connects to an ensemble and waits for a session until ctx ends; the error then wraps
// ErrNoSession and ctx.Err(). Sent packets are counted, except the handshake, pings,
// authentication, restored watches and the end of the session; so are received watch events. The
// caller closes the connection.
func Connect(ctx context.Context, o Options) (*Conn, error) {
	timeout := cmp.Or(o.SessionTimeout, DefaultSessionTimeout)
	if timeout < 0 || timeout > MaxSessionTimeout {
		return nil, fmt.Errorf("zksession: session timeout %v cannot be", timeout)
	}
	servers, err := parseServers(o.Servers)
	if err != nil {
		return nil, fmt.Errorf("zksession: %w", err)
	}
	z := &Conn{counter: cmp.Or(o.Counter, new(Counter)), clock: o.Now, tick: o.Tick}
	z.timeout.Store(int64(timeout))
	z.entering.Store(true)
	z.dialing, z.stop = context.WithCancel(context.Background())
	z.hosts = z.newHosts(servers, o.lookup)

	ready := make(chan struct{})
	var once sync.Once
	onEvent := func(ev zk.Event) {
		if o.OnEvent != nil {
			o.OnEvent(ev)
		}
		if ev.Type == zk.EventSession && ev.State == zk.StateHasSession {
			once.Do(func() { close(ready) })
		}
	}
	z.Conn, z.events, err = zk.Connect(o.Servers, timeout,
		zk.WithDialer(z.dialer(o.TLS)), zk.WithHostProvider(z.hosts), zk.WithEventCallback(onEvent),
		zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		z.stop()
		return nil, fmt.Errorf("zksession: %w", err)
	}
	select {
	case <-ready:
		err = z.enter(ctx, o)
	case <-ctx.Done():
		err = z.unavailable(ctx, o.Servers)
	}
	if err != nil {
		z.Close()
		return nil, err
	}
	z.entering.Store(false)
	return z, nil
}

func (z *Conn) newHosts(servers []server, lookup func(context.Context, string) ([]string, error)) *hosts {
	if lookup == nil {
		lookup = net.DefaultResolver.LookupHost
	}
	return &hosts{
		servers: servers, find: lookup, open: z.dialing, known: make([][]string, len(servers)),
		patience: func() time.Duration { return handshakeWait(z.SessionTimeout(), 0) },
		hung:     make(map[string]bool),
	}
}

// Elsewhere reports whether another connection may lead to another server.
func (z *Conn) Elsewhere() bool {
	return z.hosts != nil && (len(z.hosts.servers) > 1 || z.hosts.servers[0].named())
}

// Traffic returns the totals of the connection's Counter.
func (z *Conn) Traffic() (requests, notifications uint64) { return z.counter.Traffic() }

func (z *Conn) time() time.Time {
	if z.clock == nil {
		return time.Now()
	}
	return z.clock()
}

// SessionTimeout returns the granted timeout: the servers end the session after that time
// without contact.
func (z *Conn) SessionTimeout() time.Duration { return time.Duration(z.timeout.Load()) }

// Close ends the session, and returns when every goroutine of the connection has ended. If no
// server answers within a second or two, the session ends later: see [conn.linger]. Running
// calls fail with [zk.ErrConnectionClosed].
func (z *Conn) Close() {
	z.Conn.Close()
	z.stop()
	if now := z.Link().c; now != nil && !now.linger() {
		now.Close()
	}
	for range z.events { // nobody reads it before; the library drops overflow
	}
}

// silent is a logger without output, unlike the library's default.
type silent struct{}

func (silent) Printf(string, ...any) {}

// A Counter counts packets. Its zero value is ready; it is safe for concurrent use.
type Counter struct {
	requests      atomic.Uint64
	notifications atomic.Uint64
}

// Traffic returns the numbers of sent requests and received watch events.
func (c *Counter) Traffic() (requests, notifications uint64) {
	return c.requests.Load(), c.notifications.Load()
}
