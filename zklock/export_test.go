package zklock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/boottime"
)

// WithSuspends returns o for a client whose machine has been suspended for as long as slept
// returns.
func WithSuspends(o ClientOptions, slept func() time.Duration) ClientOptions {
	o.clock = boottime.New(func(time.Time) time.Duration { return slept() })
	return o
}

// StopAfterGrant stops c, as stop does, between the next grant and the return of Lock. What
// stands still does not end a lease meanwhile.
func StopAfterGrant(c *Client, stop func()) {
	swap := func(with map[*Lease]bool) map[*Lease]bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		was := c.leases
		c.leases = with
		if c.watchdog == nil {
			c.watchdog = time.AfterFunc(time.Hour, c.watch)
		}
		return was
	}
	StallOnce(c, lockGranted, func() {
		running := swap(make(map[*Lease]bool))
		stop()
		swap(running)
	})
}

// ClientOf returns whose lock m is.
func ClientOf(m *Mutex) *Client { return m.c }

// Expire tells c that its session has expired.
func Expire(c *Client) { c.onEvent(zk.Event{Type: zk.EventSession, State: zk.StateExpired}) }

// GrantAfter queues at m, which must be free, and reports whether the ticket gets the lock
// though that happens after the queue was looked at.
func GrantAfter(m *Mutex, happens func(*Client)) (bool, error) {
	t := newTicket(&m.queue, m.p)
	if _, err := t.enter(); err != nil {
		return false, err
	}
	v, err := m.p.look(t)
	if err != nil || !v.head {
		return false, err
	}
	happens(m.c)
	return m.c.grant(&Lease{}, t), nil
}

// Deadline returns until when the session of c surely lives, less the margin, and Assure
// returns when a lease can begin.
func Deadline(c *Client) time.Time                { return c.deadline() }
func Assure(ctx context.Context, c *Client) error { return c.assure(ctx) }

// FindsPlain reports whether a ticket of m, whose data a node has that create makes, takes
// that node for its own. If expired is set a session of the client has ended since then.
func FindsPlain(m *Mutex, create func(path string, data []byte) error, expired bool) (bool, error) {
	t := newTicket(&m.queue, m.p)
	name, since := plainName(m.p.kind, 0), m.c.now()
	if expired {
		since.session--
	}
	if err := create(m.path+"/"+name, t.data()); err != nil {
		return false, err
	}
	err := t.findPlain([]string{name}, since)
	if transient(err) || errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	return t.node != "", err
}

// Create makes an ephemeral node of the session of c.
func Create(c *Client, path string, data []byte) error {
	_, err := c.conn.Create(path, data, zk.FlagEphemeral, c.acl)
	return err
}

// Line returns how many goroutines wait in memory.
func (k *Cohort) Line() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.line.Len()
}

// LockNumbered is Lock that also returns the number of the ticket.
func (m *Mutex) LockNumbered(ctx context.Context) (*Lease, int32, error) {
	t := newTicket(&m.queue, m.p)
	l, err := t.lock(ctx, false)
	n, _ := number(t.node, m.p.kind)
	return l, n, err
}

// Busy reports whether a goroutine of k holds the lock or drive queues for it.
func (k *Cohort) Busy() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.busy
}

// HandOverAfterExpiry takes k, which must be free, and reports whether its
// holder can hand it on though the session is said to have expired.
func HandOverAfterExpiry(k *Cohort) (bool, error) {
	t := newTicket(&k.queue, fairQueue)
	if _, err := t.lock(context.Background(), false); err != nil {
		return false, err
	}
	h := &tenure{k: k, t: t}
	k.c.onEvent(zk.Event{Type: zk.EventSession, State: zk.StateExpired})
	_, handed := h.handOver()
	return handed, nil
}

// ServeAndAbandon lets a waiter of k be served and give up before it hears of it.
func ServeAndAbandon(k *Cohort) {
	w, _ := k.join()
	w.grant <- <-w.grant
	k.abandon(w)
}

// Unseal makes c one whose servers do not enforce ACLs.
func Unseal(c *Client) { seals(c, nil) }

// Forge makes c claim a seal that its tickets do not have: the ACL of their
// lock lets all clients write.
func Forge(c *Client) { seals(c, c.acl) }

// Estrange makes c seal its tickets with an identity that the servers do not
// take for its own.
func Estrange(c *Client) { seals(c, sealed(c.acl, "another", "client")) }

func seals(c *Client, acl []zk.ACL) {
	c.seal.mu.Lock()
	defer c.seal.mu.Unlock()
	c.seal.known, c.seal.acl = true, acl
}

// Sealed reports whether c has found out that it can seal its tickets.
func Sealed(c *Client) bool {
	c.seal.mu.Lock()
	defer c.seal.mu.Unlock()
	return c.seal.known && c.seal.acl != nil
}

// Marker is what a sealed ticket holds.
var Marker = string(tag{"another", "a test"}.data())

// Node returns the path of the ticket of l.
func Node(l *Lease) string { return l.path + "/" + l.node }

// Fair makes m the lock zk-fair.
func Fair(m *Mutex) *Mutex { m.p = fairQueue; return m }

// WatchesWaiter reports whether a waiter of a semaphore would wait for the
// ticket at path, rather than look again.
func WatchesWaiter(c *Client, path string) (bool, error) {
	wake, err := c.watchUnheld(path)
	return wake != nil, err
}

// HeldMark is what a holder of a semaphore writes into its ticket.
var HeldMark = heldMark

// Relax makes c, which must be unused, one that does not guard its tickets before
// a third of the session timeout: for tests that count, on a machine that may be slow.
func Relax(c *Client) *Client { c.guardMost = time.Hour; return c }

// Stall lets c, which must be unused meanwhile, call f between each reply that made
// a ticket and what follows.
func Stall(c *Client, f func()) {
	c.stall = func(p point) {
		if p == ticketMade {
			f()
		}
	}
}

// Points for StallOnce.
const (
	TicketMade  = ticketMade
	BeforeWatch = beforeWatch
	NodeFound   = nodeFound
)

// StallOnce lets c, which must be unused meanwhile, call f at the next such point.
func StallOnce(c *Client, at point, f func()) {
	var once sync.Once
	c.stall = func(p point) {
		if p == at {
			once.Do(f)
		}
	}
}

// SessionID returns the session of c, as the servers call it.
func SessionID(c *Client) int64 { return c.conn.SessionID() }

// Up reports whether c has a session and a connection.
func Up(c *Client) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isUp
}

// SetMargin gives c, which must be unused, a margin that Dial may refuse.
func SetMargin(c *Client, margin time.Duration) { c.margin = margin }

// What a path and an ACL can be.
const (
	MaxPath = maxPath
	MaxACL  = maxACL
)

// CheckPath returns an error if no lock can be at path.
var CheckPath = checkPath
