package redislock

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"locklab/internal/boottime"
)

// ClientOptions is how a Client uses Redis. The zero value is usable.
type ClientOptions struct {
	// Blocking is for the commands that block, with which waiters listen: one
	// connection of it for every 32 names that this client waits for, in a cluster one
	// for each, and one for each lock that subscribes. The Client closes it. It must not
	// repeat requests (redis.Options.MaxRetries: -1): a message may be lost with a
	// connection, and that must show. nil makes one after the pattern of the other
	// client, which must then be a *redis.Client (of one server, or by Sentinel) or a
	// *redis.ClusterClient.
	//
	// Behind Sentinel and in a cluster the one that is made notices a server that hangs,
	// or that has been replaced while it did, also while nothing is sent: after five
	// seconds of silence, and then at intervals that grow to twenty, it dials once more,
	// says PING, and waits three seconds for an answer. One that is given must see to
	// that itself: one by redis.NewFailoverClient closes those of its connections that
	// pop when a replica is promoted, but not those that subscribe, as Reentrant
	// does. A waiter whose client does not notice gets the lock when the lease of the holder
	// is over, or later.
	Blocking redis.UniversalClient

	// Name is the name of this client: letters, digits, and . _ - / after the first. The
	// connections on which it listens have it in CLIENT LIST, in place of the name
	// that those of the other client have (redis.Options.ClientName), unless
	// Blocking is set or the user may not set it. And what a lock has in the server for
	// its owner, in its key, and for each waiter, in its queue, begins with it: so GET of
	// the key of a Mutex says which client has it. In the key of a Reentrant there is no
	// room for it. "" is no name.
	Name string

	// Trace is told of every Lock of this client, and of the leases, after the Trace that
	// its context may have: for metrics. Of a Redlock it is that of the first client.
	Trace *Trace

	clock *boottime.Clock // of a test; nil for the machine's
}

// A Client keeps what the locks of one process share: the renewal of leases,
// and connections to listen on. Its methods and locks may be used by any number
// of goroutines.
type Client struct {
	rdb  redis.UniversalClient
	open context.Context // ends with Close
	shut context.CancelFunc

	serving context.Context // ends when Shutdown or Close begins
	stop    context.CancelFunc

	clock   *boottime.Clock
	name    string
	trace   *Trace // or nil
	id      string // of the mailboxes
	misname error  // what is wrong with it
	misuse  error  // what is wrong with the options, for locks that listen
	prompt  bool   // rdb ends a request when its context's time is over

	fresh      atomic.Int32 // requests that go by new connections
	scripts    atomic.Bool  // the server refuses commands that would serve: use scripts
	unanswered unanswered
	permitted  sync.Map    // the needs for which take has found the rights
	admitted   atomic.Bool // the server has accepted the password, or needs none
	separate   bool        // the connections that listen may have another password
	heard      atomic.Bool // by which they have listened

	mu       sync.Mutex
	blocking redis.UniversalClient // nil until needed
	leases   map[*Lease]bool
	next     time.Time   // when the watchdog runs again; zero for never
	watchdog *time.Timer // nil before the first lease
	owed     map[*debt]bool
	tasks    int           // goroutines started by task
	noTask   chan struct{} // closed when there are none; nil unless that is waited for
	closed   bool
	work     sync.WaitGroup // goroutines started by spawn and task

	mail          mailboxes // locked before mu
	subscriptions channels[subscription]
	broadcasts    channels[broadcast]
}

// NewClient returns a client over rdb, which it neither closes nor blocks.
// The caller closes the Client before rdb.
//
// A request that has no answer is sent once more by a connection of its own, which is
// dialled by the options of rdb. Hooks that were added to rdb, such as those of tracing,
// do not see these requests, nor those by which waiters listen unless they were added to
// ClientOptions.Blocking: the client library does not tell which hooks a client has.
func NewClient(rdb redis.UniversalClient, o ClientOptions) *Client {
	c := &Client{clock: cmp.Or(o.clock, boottime.New(nil)), rdb: rdb, blocking: o.Blocking, name: o.Name, trace: o.Trace, separate: o.Blocking != nil, leases: make(map[*Lease]bool), owed: make(map[*debt]bool)}
	c.id = c.identity()
	c.mail.boxes, c.mail.readers = make(map[string]*mailbox), make(map[*reader]bool)
	if b, ok := o.Blocking.(*redis.Client); ok && b.Options().MaxRetries > 0 {
		c.misuse = fmt.Errorf("%w: ClientOptions.Blocking repeats requests: set its MaxRetries to -1", ErrUsage)
	}
	if o.Name != "" && !clientName.MatchString(o.Name) {
		c.misname = fmt.Errorf("%w: the client's name is %.80q: want 1 to 64 letters, digits, and . _ - / after the first", ErrUsage, o.Name)
	}
	switch rdb := rdb.(type) {
	case *redis.Client:
		c.prompt = rdb.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		c.prompt = rdb.Options().ContextTimeoutEnabled
	}
	c.open, c.shut = context.WithCancel(context.Background())
	c.serving, c.stop = context.WithCancel(c.open)
	return c
}

// clientName is what Redis takes for a name, but for what has a meaning in the
// names of waiters.
var clientName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,63}$`)

// identity returns a new name that no other has, for an owner or a mailbox.
func (c *Client) identity() string {
	if c.name == "" {
		return rand.Text()
	}
	return c.name + "-" + rand.Text()
}

// options returns o without zeros, or what is wrong with it, or with the name of
// the lock or of c.
func (c *Client) options(o Options, name string) (Options, error) {
	o, err := o.withDefaults(name)
	if err == nil {
		err = c.misname
	}
	return o, err
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

// here runs f in this goroutine, as spawn does in another.
func (c *Client) here(f func()) bool {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false
	}
	c.work.Add(1)
	c.mu.Unlock()
	defer c.work.Done()
	f()
	return true
}

var errNoBlocking = errors.New("redislock: this kind of client cannot be copied for blocking commands: set ClientOptions.Blocking")

// listener returns the client for blocking commands.
func (c *Client) listener() (redis.UniversalClient, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, ErrClosed
	case c.blocking != nil:
		return c.blocking, nil
	}
	switch rdb := c.rdb.(type) {
	case *redis.Client:
		o := *rdb.Options()
		o.PoolSize, o.MaxActiveConns, o.MinIdleConns, o.MaxIdleConns, o.MaxRetries = manyConnections, 0, 0, 1, -1
		o.MaintNotificationsConfig = quietMaintenance()
		c.introduce(&o.ClientName, &o.OnConnect)
		if o.Addr == byFailover { // else no server takes the place of one that hangs
			o.Dialer = c.watch(o.Dialer, o.Addr)
		}
		c.blocking = redis.NewClient(&o)
	case *redis.ClusterClient:
		o := *rdb.Options()
		o.PoolSize, o.MaxActiveConns, o.MinIdleConns, o.MaxIdleConns, o.MaxRedirects = manyConnections, 0, 0, idleOfNode, -1
		o.MaintNotificationsConfig = quietMaintenance()
		c.introduce(&o.ClientName, &o.OnConnect)
		if o.Dialer == nil { // else that of redis.NewClient
			o.Dialer = redis.NewDialer(&redis.Options{DialTimeout: cmp.Or(o.DialTimeout, 5*time.Second), TLSConfig: o.TLSConfig})
		}
		o.Dialer = c.watch(o.Dialer, "")
		c.blocking = redis.NewClusterClient(&o)
	default:
		return nil, errNoBlocking
	}
	return c.blocking, nil
}

// introduce gives the connections that listen the name of c, if it has one and the user
// may name them: the lock works without.
func (c *Client) introduce(name *string, connected *func(context.Context, *redis.Conn) error) {
	if c.name == "" {
		return
	}
	*name = ""
	next := *connected
	*connected = func(ctx context.Context, conn *redis.Conn) error {
		if err := conn.ClientSetName(ctx, c.name).Err(); err != nil && !forbidden(err) {
			return err
		}
		if next == nil {
			return nil
		}
		return next(ctx, conn)
	}
}

// quietMaintenance is a configuration of its own for the connections that listen.
// go-redis writes to that of the client they are copied from while it connects, so
// it must not even be read here. Nothing is lost: a waiter asks again after a cut.
func quietMaintenance() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// renewTogether is how much earlier than it must a lease is renewed if others are.
const renewTogether = 20 * time.Millisecond

const (
	// manyConnections does not limit how many listen.
	manyConnections = 1 << 16

	// idleOfNode is how many connections to a node of a cluster stay when they are not in
	// use: between two pops each is idle for a moment.
	idleOfNode = 4
)

// keep adds a lease to those of the watchdog, and reports whether
// any of it is left.
func (c *Client) keep(l *Lease) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || !c.clock.Now().Before(l.deadline) {
		return false
	}
	c.leases[l] = true
	c.tickAt(l.due())
	return true
}

// drop takes a lease away from the watchdog.
func (c *Client) drop(l *Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.leases, l)
}

// tickAt makes sure that the watchdog runs at that time or before. The caller
// holds c.mu.
func (c *Client) tickAt(at time.Time) {
	now := c.clock.Now()
	switch {
	case c.next.IsZero() || at.Before(c.next):
		c.next = at
	case now.Before(c.next):
		return
	} // else the timer is late: the machine was suspended
	if c.watchdog == nil {
		c.watchdog = time.AfterFunc(c.next.Sub(now), c.tick)
	} else {
		c.watchdog.Reset(c.next.Sub(now))
	}
}

// tick ends the leases whose time is over and renews those whose time has come.
func (c *Client) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.next = time.Time{}
	now := c.clock.Now()
	renew := make(map[bool][]*Lease) // by whether the last one was not answered
	var silent []*Lease
	for l := range c.leases {
		switch {
		case !now.Before(l.deadline):
			l.end(l.over())
			delete(c.leases, l)
			continue
		case !l.renewAt.IsZero() && l.renewAt.Sub(now) <= l.together():
			renew[l.unanswered] = append(renew[l.unanswered], l)
			if l.asking {
				silent, l.toldUntil = append(silent, l), now
			}
			l.unanswered, l.asking, l.renewAt = true, true, now.Add(l.term/renewSilence)
		}
		c.tickAt(l.due())
	}
	if len(silent) > 0 {
		c.work.Go(func() {
			for _, l := range silent {
				l.renewalFailed(errSilent)
			}
		})
	}
	for unanswered, ls := range renew {
		c.work.Go(func() { c.renew(ls, unanswered) })
	}
}

// together returns an error if the servers cannot keep the companions of the lock
// called name where it is itself.
func (c *Client) together(name string) error {
	if _, cluster := c.rdb.(*redis.ClusterClient); !cluster || hashTag(companion(name, "")) == hashTag(name) {
		return nil
	}
	return fmt.Errorf("%w: a cluster cannot keep the keys of the lock %q together: put part of its name in braces, before any other brace", ErrUsage, name)
}

// closedErr is ErrClosed once the client is closed, or shut down, else nil.
func (c *Client) closedErr() error {
	if c.serving.Err() != nil {
		return ErrClosed
	}
	return nil
}
