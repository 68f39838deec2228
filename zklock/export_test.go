package zklock

import (
	"context"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

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

// GrantAfterExpiry queues at m, which must be free, and reports whether the
// ticket gets the lock though the session is said to have expired after the
// queue was looked at.
func GrantAfterExpiry(m *Mutex) (bool, error) {
	t := newTicket(&m.queue, m.p)
	if _, err := t.enter(); err != nil {
		return false, err
	}
	v, err := m.p.look(t)
	if err != nil || !v.head {
		return false, err
	}
	m.c.onEvent(zk.Event{Type: zk.EventSession, State: zk.StateExpired})
	return m.c.grant(&Lease{}, t), nil
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
