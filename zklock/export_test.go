package zklock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/boottime"
)

func WithSuspends(o ClientOptions, slept func() time.Duration) ClientOptions {
	o.clock = boottime.New(func(time.Time) time.Duration { return slept() })
	return o
}

// StopAfterGrant stops c with stop between the next grant and the return of Lock.
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

func ClientOf(m *Mutex) *Client { return m.c }

func Expire(c *Client) { c.onEvent(zk.Event{Type: zk.EventSession, State: zk.StateExpired}) }

// GrantAfter reports whether a ticket of m gets the lock if happens runs after its look.
func GrantAfter(m *Mutex, happens func(*Client)) (bool, error) {
	t := newTicket(&m.queue, m.p)
	if err := t.enter(); err != nil {
		return false, err
	}
	if v, err := m.p.look(t); err != nil || !v.head {
		return false, err
	}
	happens(m.c)
	return m.c.grant(&Lease{}, t) == nil, nil
}

// Deadline is Client.deadline. Assure returns when a lease can begin.
func Deadline(c *Client) time.Time                { return c.deadline() }
func Assure(ctx context.Context, c *Client) error { return c.assure(ctx) }

// FindsPlain reports whether a ticket of m adopts a node with its data that create makes. With
// expired, a session of the client has ended since.
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

func Create(c *Client, path string, data []byte) error {
	_, err := c.conn.Create(path, data, zk.FlagEphemeral, c.acl)
	return err
}

// Complete reports whether all leases of c can be given back. It gets in as soon as c.mu is free.
func Complete(c *Client) bool {
	for !c.mu.TryLock() {
	}
	defer c.mu.Unlock()
	for l := range c.leases {
		if l.free == nil {
			return false
		}
	}
	return true
}

// Lend is the begin of o.RLock. It reports whether o writes.
func Lend(o *RWMutexOwner) bool { return o.w.possession(true) != nil }

// ListBehind returns the names below path, as listed by c while an older list has not ended.
func ListBehind(c *Client, path string) ([]string, error) {
	older := &listing{done: make(chan struct{})}
	close(older.done)
	c.lists.by[path] = older
	names, _, err := c.list(path)
	return names, err
}

func (k *Cohort) Line() int { return k.turns.Len() }

// HandOverAfterExpiry reports whether k's holder can hand it on after the session expired.
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

func Unseal(c *Client) { sealWith(c, nil) }

// MakesPlain reports whether a ticket of m is plain if sealing stops before its node is made.
func MakesPlain(m *Mutex) (bool, error) {
	t := newTicket(&m.queue, m.p)
	t.claim()
	Unseal(m.c)
	defer t.withdraw()
	err := t.enter()
	return t.plain, err
}

// Forge makes c claim a seal that its tickets do not have: all clients can write to them.
func Forge(c *Client) { sealWith(c, c.acl) }

// Estrange makes c seal its tickets with an identity that the servers do not accept as its own.
func Estrange(c *Client) { sealWith(c, sealed(c.acl, "another", "client")) }

func sealWith(c *Client, acl []zk.ACL) {
	c.seal.mu.Lock()
	defer c.seal.mu.Unlock()
	c.seal.known, c.seal.acl = true, acl
}

func Sealed(c *Client) bool {
	c.seal.mu.Lock()
	defer c.seal.mu.Unlock()
	return c.seal.known && c.seal.acl != nil
}

// Marker is the data of a sealed ticket.
var Marker = string(tag{"another", "a test"}.data())

func Node(l *Lease) string { return l.q.path + "/" + l.node }

// Relax delays the ticket guards of an unused c to a third of the session timeout.
func Relax(c *Client) *Client { c.guardMost = time.Hour; return c }

// Stall makes c call f after each reply that made a ticket. c must be unused meanwhile.
func Stall(c *Client, f func()) {
	c.stall = func(p point) {
		if p == ticketMade {
			f()
		}
	}
}

const (
	TicketMade  = ticketMade
	BeforeWatch = beforeWatch
	WatchSet    = watchSet
	NodeFound   = nodeFound
)

// StallOnce makes c call f at the next such point. c must be unused meanwhile.
func StallOnce(c *Client, at point, f func()) {
	var once sync.Once
	c.stall = func(p point) {
		if p == at {
			once.Do(f)
		}
	}
}

func SessionID(c *Client) int64 { return c.conn.SessionID() }

func Up(c *Client) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isUp
}

func Overdue(l *Lease) { l.overdue() }

func SetMargin(c *Client, margin time.Duration) { c.margin = margin }

// Limits of paths and ACLs.
const MaxPath, MaxACL = maxPath, maxACL

var CheckPath = checkPath
