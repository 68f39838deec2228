package zksession

import (
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

// ErrAuthentication is returned by [Connect] if the servers serve only clients that
// authenticate in another way.
var ErrAuthentication = errors.New("the servers require clients to authenticate (enforce.auth.enabled or sessionRequireClientSASLAuth): set user name and password if they allow the scheme digest; SASL is not supported")

// DefaultSessionTimeout is what [Connect] asks the servers for if the options
// name none: long enough for a garbage collector or a leader
// election, short enough that a crashed holder does not stop a service.
const DefaultSessionTimeout = 10 * time.Second

// MaxSessionTimeout is the longest that the protocol can say.
const MaxSessionTimeout = math.MaxInt32 * time.Millisecond

// Options is how to connect.
type Options struct {
	Servers            []string      // host:port of the ensemble's; port 2181 if there is none
	SessionTimeout     time.Duration // asked for; 0 is DefaultSessionTimeout
	Username, Password string        // digest authentication; none if Username is empty
	TLS                *tls.Config   // nil for plain TCP; without ServerName each server is to have its own

	// OnEvent is called with every event of the connection, in order, on the
	// library's own goroutines: it must not block and not call the
	// connection. Unlike the library's channel it misses none. nil is fine.
	OnEvent func(zk.Event)

	// Counter counts the traffic; nil gives the connection its own.
	Counter *Counter

	// Now is the clock by which a [Proof] counts; nil is time.Now.
	Now func() time.Time

	// Tick is the tickTime of the servers, if they grant sessions of less than two
	// ticks; see [Conn.Lag]. 0 says that they do not.
	Tick time.Duration

	lookup func(ctx context.Context, host string) ([]string, error) // of tests; nil is the system's
}

// A Conn is a client of a ZooKeeper ensemble: one session at a time,
// over one TCP connection at a time. It reconnects by itself.
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

	mu      sync.Mutex
	since   time.Time // see [Proof]
	now     *conn     // the latest TCP connection
	refused error     // why there is no session
	hello   []byte    // the latest handshake
	shakes  handshakes
	debt    debt

	creations creations
	bound     bindings
	longest   longestPath

	dialing context.Context // ends with Close
	stop    context.CancelFunc
}

// Connect connects to an ensemble and waits for a session until ctx ends; the
// error then wraps ErrNoSession and ctx.Err(). Counted are packets sent, but not the
// handshake, pings, authentication, re-registration of watches after a reconnect, and
// the end of the session; and watch events received. The caller closes the connection.
func Connect(ctx context.Context, o Options) (*Conn, error) {
	timeout := o.SessionTimeout
	if timeout == 0 {
		timeout = DefaultSessionTimeout
	}
	if timeout < 0 || timeout > MaxSessionTimeout {
		return nil, fmt.Errorf("zksession: session timeout %v cannot be", timeout)
	}
	servers, err := parseServers(o.Servers)
	if err != nil {
		return nil, fmt.Errorf("zksession: %w", err)
	}
	z := &Conn{counter: o.Counter, clock: o.Now, tick: o.Tick}
	if z.counter == nil {
		z.counter = new(Counter)
	}
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
		names:    &names{servers: servers, find: lookup, open: z.dialing, known: make(map[string]*known)},
		patience: func() time.Duration { return handshakeWait(z.SessionTimeout(), 0) },
	}
}

// Elsewhere reports whether another connection may lead to another server.
func (z *Conn) Elsewhere() bool {
	return z.hosts != nil && (len(z.hosts.servers) > 1 || z.hosts.servers[0].named())
}

// Traffic returns that of the connection's Counter.
func (z *Conn) Traffic() (requests, notifications uint64) { return z.counter.Traffic() }

func (z *Conn) time() time.Time {
	if z.clock == nil {
		return time.Now()
	}
	return z.clock()
}

// SessionTimeout returns what the server granted: it ends the session when it
// has not heard from the client for that long.
func (z *Conn) SessionTimeout() time.Duration { return time.Duration(z.timeout.Load()) }

// Close ends the session, and returns when every goroutine of the connection has
// ended. If no server answers within a second or two it leaves the session to a server
// that answers later on the same connection, see [conn.linger], or to time out. Calls in
// progress fail with [zk.ErrConnectionClosed].
func (z *Conn) Close() {
	z.Conn.Close()
	z.stop()
	z.mu.Lock()
	now := z.now
	z.mu.Unlock()
	if now != nil && !now.linger() {
		now.Close()
	}
	for range z.events { // nothing reads it before; the library drops what does not fit
	}
	z.hosts.work.Wait()
}

// silent is a logger that a library's package-wide default would not be.
type silent struct{}

func (silent) Printf(string, ...any) {}
