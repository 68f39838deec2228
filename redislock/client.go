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

// ClientOptions configures a Client. The zero value is usable.
type ClientOptions struct {
	// Blocking runs the blocking commands of waiters: one connection per 32 awaited names (in
	// a cluster, per name), and one per lock that subscribes. The Client closes it. It must
	// not repeat requests (set redis.Options.MaxRetries to -1): a message may be lost with a
	// connection, and that must show. If it is nil, the Client copies the other client, which
	// must be a *redis.Client or a *redis.ClusterClient.
	//
	// Behind Sentinel and in a cluster, the copy detects a silent server that hangs, or was
	// replaced meanwhile: after five seconds, and then at intervals that grow to twenty, it
	// sends PING on a second connection, and waits three seconds.
	//
	// A given client must detect that without help. One of redis.NewFailoverClient closes its
	// connections that pop when a replica is promoted, but not the connections that subscribe,
	// as Reentrant does. A waiter whose client does not notice gets the lock when the holder's
	// lease is over, or later.
	Blocking redis.UniversalClient

	// Name is the name of this client: letters, digits, and . _ - / after the first; "" is
	// none. Its listening connections have this name in CLIENT LIST, unless Blocking is set or
	// the user may not set it. Owners in keys, except a Reentrant's, and waiters in queues
	// begin with it.
	Name string

	// Trace receives the events of every Lock of this client, and of the leases, after the
	// Trace of its context, for metrics. A Redlock uses the Trace of its first client.
	Trace *Trace

	clock *boottime.Clock // for tests; nil for the machine's clock
}

// A Client holds the state that the locks of a process share. It is safe for concurrent use.
type Client struct {
	rdb redis.UniversalClient
	settings
	findings
	lifetime

	mu       sync.Mutex
	blocking redis.UniversalClient // nil until needed
	owed     map[*debt]bool
	renewals // guarded by mu
	activity // guarded by mu

	mail mailboxes     // locked before mu
	subs subscriptions // locked before mu
}

// The settings of a client do not change.
type settings struct {
	clock   *boottime.Clock
	name    string
	trace   *Trace        // or nil
	id      string        // of the mailboxes
	misname error         // the error of an invalid name
	misuse  error         // the error of invalid options, for locks that listen
	prompt  bool          // rdb ends a request when its context ends
	longest time.Duration // that rdb may take for a request, if it has a read timeout
}

// The findings of a client are the facts that replies have shown.
type findings struct {
	fresh      atomic.Int32 // requests that use new connections
	unanswered unanswered
	permitted  sync.Map    // the needs whose rights take has checked
	admitted   atomic.Bool // the server has accepted the password, or needs none
	separate   bool        // the listening connections may have another password
	heard      atomic.Bool // they have connected with that password
}

type lifetime struct {
	open    context.Context // ends with Close
	shut    context.CancelFunc
	serving context.Context // ends when Shutdown or Close begins
	stop    context.CancelFunc
}

type renewals struct {
	leases   map[*Lease]bool // false from the end of the lease until its release is confirmed or owed
	next     time.Time       // next run of the watchdog; zero for never
	watchdog *time.Timer     // nil before the first lease
}

type activity struct {
	tasks  int       // between taskBegins and taskEnds
	noTask sync.Cond // there are none
	closed bool
	work   sync.WaitGroup // goroutines started by spawn, and tasks
}

// NewClient returns a client over rdb, which it neither closes nor blocks. The caller
// closes the Client before rdb.
//
// A request without an answer is repeated on a new connection with the options of rdb. Hooks of
// rdb, such as tracing, do not see these repetitions, because the client library does not expose
// its hooks. They see the requests of waiters only if they were added to ClientOptions.Blocking.
func NewClient(rdb redis.UniversalClient, o ClientOptions) *Client {
	c := &Client{rdb: rdb, blocking: o.Blocking, owed: make(map[*debt]bool)}
	c.clock, c.name, c.trace = cmp.Or(o.clock, boottime.New(nil)), o.Name, o.Trace
	c.leases, c.separate = make(map[*Lease]bool), o.Blocking != nil
	c.id, c.noTask.L = c.identity(), &c.mu
	c.subs.all = make(map[topic]*subscription)
	c.mail.boxes, c.mail.readers = make(map[string]*mailbox), make(map[*reader]bool)
	if b, ok := o.Blocking.(*redis.Client); ok && b.Options().MaxRetries > 0 {
		c.misuse = fmt.Errorf("%w: ClientOptions.Blocking repeats requests: set its MaxRetries to -1", ErrUsage)
	}
	if o.Name != "" && !clientName.MatchString(o.Name) {
		c.misname = fmt.Errorf("%w: the client's name is %.80q: want 1 to 64 letters, digits, and . _ - / after the first", ErrUsage, o.Name)
	}
	switch rdb := rdb.(type) {
	case *redis.Client:
		c.prompt, c.longest = rdb.Options().ContextTimeoutEnabled, max(rdb.Options().ReadTimeout, rdb.Options().DialTimeout, 0)
	case *redis.ClusterClient:
		c.prompt, c.longest = rdb.Options().ContextTimeoutEnabled, max(rdb.Options().ReadTimeout, rdb.Options().DialTimeout, 0)
	}
	c.open, c.shut = context.WithCancel(context.Background())
	c.serving, c.stop = context.WithCancel(c.open)
	return c
}

// clientName matches Redis's names, without the characters that separate waiters' names.
var clientName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,63}$`)

func (c *Client) identity() string {
	if c.name == "" {
		return rand.Text()
	}
	return c.name + "-" + rand.Text()
}

// spawn runs f in a goroutine that Close waits for. It returns false if the client is closed.
func (c *Client) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.work.Go(f)
	return true
}

var errNoBlocking = errors.New("redislock: this kind of client cannot be copied for blocking commands: set ClientOptions.Blocking")

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
		if o.Addr == byFailover { // without Sentinel no server replaces one that hangs
			o.Dialer = c.watch(o.Dialer, o.Addr)
		}
		c.blocking = redis.NewClient(&o)
	case *redis.ClusterClient:
		o := *rdb.Options()
		o.PoolSize, o.MaxActiveConns, o.MinIdleConns, o.MaxIdleConns, o.MaxRedirects = manyConnections, 0, 0, idleOfNode, -1
		o.MaintNotificationsConfig = quietMaintenance()
		c.introduce(&o.ClientName, &o.OnConnect)
		if o.Dialer == nil { // else the dialer of redis.NewClient
			o.Dialer = redis.NewDialer(&redis.Options{DialTimeout: cmp.Or(o.DialTimeout, 5*time.Second), TLSConfig: o.TLSConfig})
		}
		o.Dialer = c.watch(o.Dialer, "")
		c.blocking = redis.NewClusterClient(&o)
	default:
		return nil, errNoBlocking
	}
	return c.blocking, nil
}

// introduce gives the listening connections the name of c, if it has one and the right.
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

// quietMaintenance returns a separate configuration for the listening connections: go-redis
// writes to the original while it connects. No notification is lost: a waiter asks again.
func quietMaintenance() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// renewTogether is how much earlier a lease may be renewed to join the renewal of others.
const renewTogether = 20 * time.Millisecond

const (
	// manyConnections sets no limit on listening connections.
	manyConnections = 1 << 16

	// idleOfNode is the idle connections kept per cluster node: each is idle between two pops.
	idleOfNode = 4
)

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

// drop ends the renewals of l. Shutdown names l until forget.
func (c *Client) drop(l *Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leases[l] {
		c.leases[l] = false
	}
}

func (c *Client) forget(l *Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.leases, l)
}

// tickAt schedules the watchdog for that time or earlier. The caller holds c.mu.
func (c *Client) tickAt(at time.Time) {
	now := c.clock.Now()
	switch {
	case c.next.IsZero() || at.Before(c.next):
		c.next = at
	case now.Before(c.next):
		return
	} // else the timer is late: the machine was suspended
	c.watchdog = callAfter(c.watchdog, c.next.Sub(now), c.tick)
}

// callAfter returns t, or a new timer if t is nil, which calls f after d.
func callAfter(t *time.Timer, d time.Duration, f func()) *time.Timer {
	if t == nil {
		return time.AfterFunc(d, f)
	}
	t.Reset(d)
	return t
}

// tick ends expired leases and renews the due ones.
func (c *Client) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.next = time.Time{}
	now := c.clock.Now()
	renew := make(map[bool][]*Lease) // by whether the previous renewal has no answer
	var silent []*Lease
	for l, held := range c.leases {
		switch {
		case !held:
			continue
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

func (c *Client) together(name string) error {
	if _, cluster := c.rdb.(*redis.ClusterClient); !cluster || hashTag(companion(name, "")) == hashTag(name) {
		return nil
	}
	return fmt.Errorf("%w: a cluster cannot keep the keys of the lock %q together: put part of its name in braces, before any other brace", ErrUsage, name)
}

func (c *Client) closedErr() error {
	if c.serving.Err() != nil {
		return ErrClosed
	}
	return nil
}
