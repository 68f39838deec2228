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
var ErrNoSession = errors.New("no server to talk to")

// DefaultSessionTimeout is what [Connect] asks the servers for if the options
// name none: long enough for a garbage collector or a leader
// election, short enough that a crashed holder does not stop a service.
const DefaultSessionTimeout = 10 * time.Second

// MaxSessionTimeout is the longest that the protocol can say.
const MaxSessionTimeout = math.MaxInt32 * time.Millisecond

// Options is how to connect.
type Options struct {
	Servers            []string      // host:port of the ensemble's
	SessionTimeout     time.Duration // asked for; 0 is DefaultSessionTimeout
	Username, Password string        // digest authentication; none if Username is empty
	TLS                *tls.Config   // nil for plain TCP

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
}

// A Conn is a client of a ZooKeeper ensemble: one session at a time,
// over one TCP connection at a time. It reconnects by itself.
type Conn struct {
	*zk.Conn
	counter *Counter
	events  <-chan zk.Event // closed when the library's last goroutine has ended

	clock   func() time.Time // nil is time.Now
	timeout atomic.Int64     // ns, as negotiated
	zxid    atomic.Int64     // see [Conn.Zxid]
	tick    time.Duration
	hosts   *hosts

	mu      sync.Mutex
	since   time.Time // see [Proof]
	now     *conn     // the latest TCP connection
	refused error     // why the last attempt to open one failed
	shakes  handshakes
	debt    debt

	creations creations
	bound     bindings

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
	if len(o.Servers) == 0 {
		return nil, errors.New("zksession: no server is named")
	}
	z := &Conn{counter: o.Counter, clock: o.Now, tick: o.Tick, hosts: &hosts{HostProvider: zk.NewDNSHostProvider()}}
	if z.counter == nil {
		z.counter = new(Counter)
	}
	z.timeout.Store(int64(timeout))
	z.dialing, z.stop = context.WithCancel(context.Background())

	ready := make(chan struct{})
	var once sync.Once
	var err error
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
		err = z.authenticate(ctx, o)
	case <-ctx.Done():
		err = z.unavailable(ctx, o.Servers)
	}
	if err != nil {
		z.Close()
		return nil, err
	}
	return z, nil
}

// unavailable returns the error of a caller that has waited in vain for a session.
func (z *Conn) unavailable(ctx context.Context, servers []string) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	why := z.refused
	if why == nil && z.now != nil {
		why = errors.New("it accepts connections and grants no session: is it a ZooKeeper server, does it want TLS?")
	}
	if why == nil {
		why = errors.New("no answer")
	}
	return fmt.Errorf("zksession: no session with ZooKeeper at %v: %w: %w: %w", servers, ErrNoSession, ctx.Err(), why)
}

// authenticate presents the credentials, if there are any. The library
// presents them again after each reconnect.
func (z *Conn) authenticate(ctx context.Context, o Options) error {
	if o.Username == "" {
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- z.AddAuth("digest", []byte(o.Username+":"+o.Password)) }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("zksession: ZooKeeper refused the credentials: %w", err)
		}
		return nil
	case <-ctx.Done(): // the caller closes z, which ends the goroutine
		return fmt.Errorf("zksession: ZooKeeper did not answer to the credentials: %w", ctx.Err())
	}
}

// dialer returns the function that opens TCP connections for the library.
func (z *Conn) dialer(config *tls.Config) zk.Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		if pause := z.hosts.due(); pause > 0 {
			select {
			case <-time.After(pause):
			case <-z.dialing.Done():
			}
		}
		ctx, cancel := context.WithTimeout(z.dialing, timeout)
		defer cancel()
		var raw net.Conn
		var err error
		if config != nil {
			raw, err = (&tls.Dialer{Config: config}).DialContext(ctx, network, address)
		} else {
			raw, err = new(net.Dialer).DialContext(ctx, network, address)
		}
		if err != nil {
			z.mu.Lock()
			z.refused = err
			z.mu.Unlock()
			return nil, err
		}
		c := &conn{Conn: raw, owner: z, address: address}
		z.mu.Lock()
		c.dead = time.Now().Add(handshakeWait(z.SessionTimeout(), z.shakes.hung))
		old := z.now
		z.now = c
		z.mu.Unlock()
		if old != nil {
			old.Close() // the library forgets the one on which its session expired
		}
		if z.dialing.Err() != nil { // Close has looked already
			c.Close()
		}
		return c, nil
	}
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
}

// silent is a logger that a library's package-wide default would not be.
type silent struct{}

func (silent) Printf(string, ...any) {}
