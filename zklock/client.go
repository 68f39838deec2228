package zklock

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/boottime"
	"locklab/internal/zksession"
	"locklab/lock"
)

// ClientOptions configures a connection. The zero value is usable.
type ClientOptions struct {
	// SessionTimeout is how long the servers keep the tickets of a client without contact. The
	// servers bound it, by default to 2 to 20 of their ticks; Dial fails with ErrSessionTimeout
	// if they do not grant it. 0 is 10 s, or the nearest value that the servers allow. A lease
	// tolerates 0.3 of it without a majority of the servers, such as during an election.
	SessionTimeout time.Duration

	// Margin is the time between the end of a lease that cannot be renewed and the earliest
	// possible end of the session. The holder needs it to stop, and it covers clock errors. 0 is
	// a tenth of the granted session timeout. A larger margin shortens leases; it can be up to
	// 0.35 of the timeout, or less with a long Tick. Dial fails with ErrMargin if a lease would
	// end before the session can be proven alive again.
	Margin time.Duration

	// Tick is the tickTime of the servers, twice that for an observer of an observer master,
	// if they grant sessions of less than two ticks, else 0. In two ticks a follower reports
	// live sessions to its leader four times. Longer ticks make leases shorter.
	Tick time.Duration

	Username, Password string      // digest authentication, the only kind supported; none if Username is empty
	TLS                *tls.Config // nil for plain TCP; see Connections in the package's documentation

	// Name is in the data of this client's tickets, for people and for Holders: 256 bytes at
	// most, no control characters.
	Name string

	// ACL applies to the nodes that this client makes. nil allows the same credentials, or all.
	ACL []zk.ACL

	// Trace receives the events of every Lock of this client, after the Trace in the context.
	Trace *Trace

	clock *boottime.Clock // for tests; nil for the machine's clock
}

// A Client is a series of sessions with ZooKeeper: when one expires, the next begins. Its
// methods and locks are safe for concurrent use and share its connection.
type Client struct {
	conn *zksession.Conn
	settings
	lifetime

	mu sync.Mutex
	sessionState
	heldLeases
	contacts contacts
	work     sync.WaitGroup // goroutines started by spawn
	line     sync.WaitGroup // waiting tickets

	seal      seal
	tickets   ticketWatches
	lists     lists
	histories histories
}

type settings struct {
	clock  *boottime.Clock
	acl    []zk.ACL
	tag    tag
	margin time.Duration
	trace  *Trace // or nil

	guardMost time.Duration
	stall     func(point) // of tests; may be nil
}

// A lifetime ends in two steps.
type lifetime struct {
	open context.Context // ends with Shutdown and Close: no lock is taken after that
	shut context.CancelFunc
	live context.Context // ends with Close: no request is sent after that
	kill context.CancelFunc
}

// A sessionState is guarded by Client.mu: a lease begins in the session of its ticket.
type sessionState struct {
	session int           // rises when a session expires
	isUp    bool          // connected to a server
	up      chan struct{} // closed while isUp
	cuts    int           // number of lost connections
}

// heldLeases are the leases that end with the session. Guarded by Client.mu.
type heldLeases struct {
	leases   map[*Lease]bool      // their tickets may exist
	traced   map[*Lease]time.Time // leases with a Trace, by the last end that it was notified of
	watchdog *time.Timer          // not nil while there are leases
}

// Dial connects to an ensemble (host:port of its servers) and waits for a session until ctx
// ends. The error wraps ErrUsage if an address is invalid or the servers want another
// authentication, else ErrUnavailable. The caller closes the client.
func Dial(ctx context.Context, servers []string, o ClientOptions) (*Client, error) {
	ctx = lock.Given(ctx)
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

// dial is Dial without the checks of the granted session.
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
		settings: settings{
			clock:     cmp.Or(o.clock, boottime.New(nil)),
			acl:       o.ACL,
			tag:       tag{rand.Text(), o.Name},
			margin:    o.Margin,
			trace:     o.Trace,
			guardMost: guardMost,
		},
		sessionState: sessionState{up: make(chan struct{})},
		heldLeases:   heldLeases{leases: make(map[*Lease]bool), traced: make(map[*Lease]time.Time)},
		contacts:     contacts{waits: make(map[*ticket]bool)},
		tickets:      ticketWatches{on: make(map[string]*ticketWatch)},
		lists:        lists{by: make(map[string]*listing)},
		histories:    histories{by: make(map[string]*history)},
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

// SessionTimeout returns the granted timeout, which may differ from ClientOptions.
func (c *Client) SessionTimeout() time.Duration { return c.conn.SessionTimeout() }

// Stats counts a client's packets, without keep-alives, connecting and renewed watches.
type Stats struct {
	Requests      uint64 // sent
	Notifications uint64 // watch events received
}

// Stats returns the totals of all locks of the client.
func (c *Client) Stats() Stats {
	requests, notifications := c.conn.Traffic()
	return Stats{requests, notifications}
}

// spawn runs f in a goroutine that Close waits for. It returns false if the client is closed.
func (c *Client) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live.Err() != nil {
		return false
	}
	c.work.Go(f)
	return true
}

// onEvent follows the state of the session. The library calls it, so it must not call the
// library.
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
			c.contacts.timer.Reset(0) // earlier proofs of this session may be from another server
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
		clear(c.leases)
	}
}

type pause struct{ next time.Duration }

const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

func (p *pause) wait(ctx context.Context, c *Client) error { return p.until(ctx, c, c.open) }

// until returns nil after a pause on a live connection, or an error if ctx or over ends. The
// pause begins when the connection is up, so that the library restores its watches first.
func (p *pause) until(ctx context.Context, c *Client, over context.Context) error {
	c.mu.Lock()
	up, isUp := c.up, c.isUp
	c.mu.Unlock()
	if !isUp {
		p.next = 0 // the request did not fail by itself
	}
	if err := awaited(ctx, over, up); err != nil {
		return err
	}
	p.next = min(max(firstPause, 2*p.next), lastPause)
	return awaited(ctx, over, time.After(p.next))
}

// awaited returns nil when what fires, or an error if ctx or over ends before.
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

// errOutdated is a ticket at the head whose session may have ended.
var errOutdated = errors.New("zklock: outdated view of the queue")

func transient(err error) bool {
	return errors.Is(err, errOutdated) || errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer) ||
		errors.Is(err, zk.ErrSessionExpired) || errors.Is(err, zk.ErrSessionMoved) ||
		errors.Is(err, zk.ErrClosing)
}

// grant begins l, acquired by t. The error is errOutdated if t's session may have ended or an
// event excludes it.
func (c *Client) grant(l *Lease, t *ticket) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.clock.Until(c.deadline())
	if c.open.Err() != nil || c.session != t.session || left <= 0 {
		return errOutdated
	}
	if t.blind && (moment{c.session, c.cuts}) != t.at {
		return errOutdated
	}
	l.life = newLife(context.Background())
	if t.begin != nil {
		if err := t.begin(l); err != nil {
			return err
		}
	}
	if l.node != "" {
		l.guarded(t.own, t.waits)
	}
	c.leases[l] = true // from now on Shutdown may give it back
	if c.watchdog == nil {
		c.watchdog = time.AfterFunc(left, c.watch)
	} else {
		c.watchdog.Reset(left) // the timer is late after a suspend
	}
	return nil
}

// watch ends the leases when the session may have ended, else reschedules itself.
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

func (c *Client) unconfirmed() error {
	return fmt.Errorf("%w: no majority of the servers has confirmed the session for %v", ErrLost,
		c.clock.Since(c.conn.Proof().Since).Round(time.Millisecond))
}

// loseAll ends the leases. They stay in c.leases until they are given back, for Shutdown.
func (c *Client) loseAll(cause error) {
	for l := range c.leases {
		l.end(cause)
	}
}
