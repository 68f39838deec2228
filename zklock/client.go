package zklock

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/boottime"
	"locklab/internal/zksession"
)

// ClientOptions is how to connect. The zero value is usable.
type ClientOptions struct {
	// SessionTimeout is how long the servers keep the tickets of a client
	// they do not hear from: how long a crashed holder blocks the others.
	// The servers bound it, by 2 and 20 of their ticks unless they are told
	// otherwise; Dial fails with ErrSessionTimeout if they do not grant it.
	// 0 is 10 s, or what is nearest to it for the servers. A lease lives through
	// 0.3 of it without a majority of the servers, such as during an election.
	SessionTimeout time.Duration

	// Margin is how long before the earliest possible end of the session a
	// holder that is cut off is told so: its time to stop, and what the clocks may
	// be wrong by. 0 is a tenth of the session timeout that the servers grant. What
	// is more than that a lease lacks; it can be up to 0.35 of the timeout, or less
	// with a long Tick. Dial fails with ErrMargin if no lease would last from one
	// proof that the session lives to the next.
	Margin time.Duration

	// Tick is the tickTime of the servers, if their minSessionTimeout allows
	// sessions of less than two ticks; twice that, if the client connects to an
	// observer of an observer master. 0 says that SessionTimeout is two ticks or
	// more, as by default: a follower then tells its leader four times in that
	// time which sessions it has heard from. Longer ticks make shorter leases.
	Tick time.Duration

	Username, Password string      // digest authentication, the only supported one; none if Username is empty
	TLS                *tls.Config // nil for plain TCP; see Connections in the package's documentation

	// Name is in the data of this client's tickets, for people that look for what holds a
	// lock, and for Holders: 256 bytes at most, no control characters. Of a
	// Semaphore the tickets of holders lose it when others wait.
	Name string

	// ACL is who may touch the nodes that this client makes. nil is every
	// client with the same credentials, or all clients if there are none.
	ACL []zk.ACL

	// Trace is told of every Lock of this client, and of the leases, after the Trace that
	// is in the context.
	Trace *Trace

	clock *boottime.Clock // of a test; nil for the machine's
}

// A Client is a session with ZooKeeper, or a row of them: when one expires the
// next begins by itself. Its methods and mutexes may be used by any number of
// goroutines; they share its connection.
type Client struct {
	clock  *boottime.Clock
	conn   *zksession.Conn
	acl    []zk.ACL
	tag    tag
	margin time.Duration

	trace *Trace // or nil

	guardMost time.Duration
	stall     func(point) // of tests; may be nil

	open context.Context // ends with Shutdown and Close: no lock is taken after that
	shut context.CancelFunc
	live context.Context // ends with Close: no request is sent after that
	kill context.CancelFunc

	mu       sync.Mutex
	session  int                  // rises when a session expires
	isUp     bool                 // a server talks to us
	up       chan struct{}        // closed while isUp
	leases   map[*Lease]bool      // held as far as we know
	traced   map[*Lease]time.Time // those with a Trace, which has heard that they last until then
	watchdog *time.Timer          // not nil while there are leases
	watches  map[string]<-chan zk.Event
	sweepAt  int
	cuts     int // how often the connection has broken
	contacts contacts
	closed   bool
	work     sync.WaitGroup // goroutines started by spawn
	line     sync.WaitGroup // tickets that wait

	seal      seal
	tickets   ticketWatches
	lists     lists
	histories histories
}

// Dial connects to an ensemble, given as host:port of its servers, and waits
// for a session until ctx ends. The error wraps ErrUsage, at once, if an address cannot be
// or the servers want another authentication; else ErrUnavailable. The caller closes the
// client.
func Dial(ctx context.Context, servers []string, o ClientOptions) (*Client, error) {
	ctx = orBackground(ctx)
	want := o.SessionTimeout
	if err := checkTimes(want, o.Margin, o.Tick); err != nil {
		return nil, err
	}
	c, err := dial(ctx, servers, o)
	if err != nil {
		return nil, err
	}
	if got := c.SessionTimeout(); want != 0 && got != want.Truncate(time.Millisecond) {
		c.Close()
		return nil, fmt.Errorf("%w: asked for %v, the servers grant %v: ask for that, or set their minSessionTimeout or maxSessionTimeout", ErrSessionTimeout, want, got)
	}
	if err := c.checkTerm(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// dial is Dial without a look at what the servers grant.
func dial(ctx context.Context, servers []string, o ClientOptions) (*Client, error) {
	if err := zksession.CheckServers(servers); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if err := checkName(o.Name); err != nil {
		return nil, err
	}
	if err := checkACL(o.ACL, o); err != nil {
		return nil, err
	}
	c := &Client{
		clock:     cmp.Or(o.clock, boottime.New(nil)),
		acl:       o.ACL,
		tag:       tag{rand.Text(), o.Name},
		margin:    o.Margin,
		trace:     o.Trace,
		guardMost: guardMost,
		up:        make(chan struct{}),
		leases:    make(map[*Lease]bool),
		watches:   make(map[string]<-chan zk.Event),
	}
	c.live, c.kill = context.WithCancel(context.Background())
	c.open, c.shut = context.WithCancel(c.live)
	if c.acl == nil && o.Username != "" {
		c.acl = zk.AuthACL(zk.PermAll)
	} else if c.acl == nil {
		c.acl = zk.WorldACL(zk.PermAll)
	}
	conn, err := zksession.Connect(ctx, zksession.Options{
		Servers: servers, SessionTimeout: o.SessionTimeout,
		Username: o.Username, Password: o.Password, TLS: o.TLS,
		OnEvent: c.onEvent, Tick: o.Tick, Now: c.clock.Now,
	})
	switch {
	case errors.Is(err, zksession.ErrNoSession):
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.Is(err, zksession.ErrAuthentication):
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	case err != nil:
		return nil, fmt.Errorf("zklock: %w", err)
	}
	c.conn = conn
	return c, nil
}

// SessionTimeout returns what the servers have granted, which may be more or
// less than ClientOptions asks for.
func (c *Client) SessionTimeout() time.Duration { return c.conn.SessionTimeout() }

// Stats is the traffic of a client with the servers, in whole packets. Keep-alives and
// what it takes to connect, authenticate and watch again are not counted.
type Stats struct {
	Requests      uint64 // sent
	Notifications uint64 // watch events received
}

// Stats returns what the client has sent and received, for all its locks together.
func (c *Client) Stats() Stats {
	requests, notifications := c.conn.Traffic()
	return Stats{requests, notifications}
}

// spawn runs f in a goroutine that Close waits for, and reports whether the
// client was still open.
func (c *Client) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.work.Go(f)
	return true
}

// onEvent follows the state of the session. The library calls it, and must not
// be called from it.
func (c *Client) onEvent(ev zk.Event) {
	if ev.Type != zk.EventSession {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch ev.State {
	case zk.StateHasSession:
		if !c.isUp {
			c.isUp = true
			close(c.up)
		}
		if c.contacts.timer != nil {
			c.contacts.timer.Reset(0) // what was heard of this session before may be of another server
		}
	case zk.StateDisconnected:
		c.cuts++
		if c.isUp {
			c.isUp = false
			c.up = make(chan struct{})
		}
	case zk.StateExpired:
		c.session++
		c.loseAll(ErrSessionExpired)
	}
}

// sessions returns how many sessions have expired.
func (c *Client) sessions() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// A pause waits before a request is repeated, longer each time.
type pause struct{ next time.Duration }

const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// wait is until for a client that takes locks.
func (p *pause) wait(ctx context.Context, c *Client) error { return p.until(ctx, c, c.open) }

// until returns nil when the connection is up and it is time to try again, or an error if
// ctx or over ends before, which is of the client. The
// time begins when the connection is up, so that not every client that has lost it
// asks at the same moment in which the library takes up its watches.
func (p *pause) until(ctx context.Context, c *Client, over context.Context) error {
	c.mu.Lock()
	up, isUp := c.up, c.isUp
	c.mu.Unlock()
	if !isUp {
		p.next = 0 // the request was not to blame
	}
	if err := awaited(ctx, over, up); err != nil {
		return err
	}
	p.next = min(max(firstPause, 2*p.next), lastPause)
	timer := time.NewTimer(p.next)
	defer timer.Stop()
	return awaited(ctx, over, timer.C)
}

// awaited returns nil when what comes, or an error if ctx ends before, or over, which is
// of the client.
func awaited[E any](ctx, over context.Context, what <-chan E) error {
	select {
	case <-what:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-over.Done():
		return ErrClosed
	}
}

// errOutdated is a ticket at the head whose session may be over.
var errOutdated = errors.New("zklock: outdated view of the queue")

// transient reports whether err is a matter of the connection, so that the
// same request may succeed later.
func transient(err error) bool {
	return errors.Is(err, errOutdated) || errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer) ||
		errors.Is(err, zk.ErrSessionExpired) || errors.Is(err, zk.ErrSessionMoved) ||
		errors.Is(err, zk.ErrClosing)
}

// grant begins l, whose lock was gained by t, or reports false if the session of t
// has ended or may have, or if something has happened on which t depends.
func (c *Client) grant(l *Lease, t *ticket) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.clock.Until(c.deadline())
	if c.open.Err() != nil || c.session != t.session || left <= 0 {
		return false
	}
	if t.blind && (moment{c.session, c.cuts}) != t.at {
		return false
	}
	l.life = newLife(context.Background())
	c.leases[l] = true
	if c.watchdog == nil {
		c.watchdog = time.AfterFunc(left, c.watch)
	} else {
		c.watchdog.Reset(left) // it is late if the machine was suspended
	}
	return true
}

// watch ends the leases when the session may be over, and else looks again at
// the time when that could next be so.
func (c *Client) watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.clock.Until(c.deadline())
	switch {
	case len(c.leases) == 0:
		c.watchdog = nil
	case left <= 0:
		c.loseAll(c.unconfirmed())
		c.watchdog = nil
	default:
		c.watchdog.Reset(left)
	}
}

// unconfirmed returns why leases end at their deadline.
func (c *Client) unconfirmed() error {
	return fmt.Errorf("%w: no majority of the servers has confirmed the session for %v", ErrLost,
		c.clock.Since(c.conn.Proof().Since).Round(time.Millisecond))
}

// loseAll ends every lease. The caller holds c.mu.
func (c *Client) loseAll(cause error) {
	for l := range c.leases {
		l.end(cause)
	}
	clear(c.leases)
}

// forget takes l, which has been released, off the list.
func (c *Client) forget(l *Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.leases, l)
}

// watchNode returns a channel that wakes its receivers when the node at path
// changes or goes, or the session ends, or the error zk.ErrNoNode. A watch
// that is still pending serves every waiter: withdrawn waiters, which cannot
// take theirs back, leave one per node and not one each.
func (c *Client) watchNode(path string) (<-chan zk.Event, error) {
	if wake := c.pendingWatch(path); wake != nil {
		return wake, nil
	}
	_, _, wake, err := c.conn.GetW(path)
	if err != nil {
		return nil, err
	}
	c.keepWatch(path, wake)
	return wake, nil
}

// pendingWatch returns the watch on the node at path that serves all waiters, nil
// if there is none.
func (c *Client) pendingWatch(path string) <-chan zk.Event {
	c.mu.Lock()
	wake := c.watches[path]
	c.mu.Unlock()
	if wake != nil && !fired(wake) {
		return wake
	}
	return nil
}

// keepWatch lets wake serve every waiter for the node at path.
func (c *Client) keepWatch(path string, wake <-chan zk.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches[path] = wake
	if len(c.watches) > c.sweepAt {
		maps.DeleteFunc(c.watches, func(_ string, w <-chan zk.Event) bool { return fired(w) })
		c.sweepAt = 2*len(c.watches) + 16
	}
}
