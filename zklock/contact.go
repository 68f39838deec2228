package zklock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/zksession"
)

// A majority of the servers proves that a client's session is alive by committing its writes
// (zksession.Proof, docs/decisions/0009-zk-contact.md). A client that holds or waits writes
// often enough, if need be a contact, a multi with one check.

// contacts schedules these writes. Guarded by Client.mu, except one.
type contacts struct {
	timer   *time.Timer      // not nil while the client holds or waits
	waits   map[*ticket]bool // in the queue: true if it waits, false if it is to be removed
	busy    bool             // the timer's contact has no answer yet
	tried   time.Time        // when it was sent
	patient time.Duration    // longer than usual if not 0; see impatience
	told    bool             // a failure was reported since the last contact
	below   bool             // the root is not readable: check a node of ours

	one sync.Mutex // held while a contact is on its way
}

func (c *Client) deadline() time.Time { return c.until(c.conn.Proof()) }

func (c *Client) until(p zksession.Proof) time.Time {
	return p.Since.Add(term(c.conn.SessionTimeout(), c.margin))
}

// waiting records that t queues. It returns false if no more locks are taken.
func (c *Client) waiting(t *ticket) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open.Err() != nil {
		return false
	}
	c.line.Add(1)
	k := &c.contacts
	k.waits[t] = true
	if k.timer == nil {
		k.timer = time.AfterFunc(c.conn.Lag()/4, c.keepContact) // after the ticket's own request
	}
	return true
}

func (c *Client) gone(t *ticket) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.contacts.waits, t)
}

func (c *Client) keepContact() {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := &c.contacts
	if c.live.Err() != nil || len(c.leases) == 0 && len(k.waits) == 0 {
		k.timer = nil
		return
	}
	if len(c.traced) > 0 {
		c.work.Go(c.renewed) // by other writes
	}
	k.timer.Reset(max(time.Millisecond, c.doContact(c.conn.Proof(), c.clock.Now())))
}

// doContact sends a contact if one is due, switches to another server if this one does not
// complete a write, and returns the time until the next call. The caller holds c.mu.
func (c *Client) doContact(p zksession.Proof, now time.Time) time.Duration {
	k, soon := &c.contacts, c.conn.Lag()/4
	switch {
	case !p.Unanswered.IsZero():
		if left := p.Unanswered.Add(c.impatience()).Sub(now); left > 0 {
			return min(left, soon)
		}
		if c.conn.Elsewhere() {
			k.patient = min(2*c.impatience(), c.conn.SessionTimeout())
			c.work.Go(c.conn.Cut)
		}
		c.renewalFailed(fmt.Errorf("zklock: no server has answered a write for %v", now.Sub(p.Unanswered).Round(time.Millisecond)))
		return c.impatience()
	case !p.Committed.IsZero() && c.isUp: // not on a lost connection
		k.patient, k.told = 0, false
	}
	if left := c.contactDue(p, now).Sub(now); left > 0 {
		return left
	}
	switch {
	case !c.isUp:
		c.renewalFailed(errNoConnection)
	case !k.busy: // else its end, or the next session, reports it
		k.busy, k.tried = true, now
		c.work.Go(func() { c.contacted(c.contact(p.Since)) })
	}
	return soon
}

var errNoConnection = errors.New("zklock: no connection to a server that could confirm the session")

func (c *Client) contacted(err error) {
	c.mu.Lock()
	c.contacts.busy = false
	if err != nil && c.live.Err() == nil {
		c.renewalFailed(fmt.Errorf("zklock: confirm the session: %w", err))
	}
	c.mu.Unlock()
	if err == nil {
		c.renewed()
	}
}

// contactDue returns the time of the next contact: at once on a new connection, then when it
// proves the last write, or late in the lease, anything. The caller holds c.mu.
func (c *Client) contactDue(p zksession.Proof, now time.Time) time.Time {
	due := now
	if !p.Committed.IsZero() {
		due = p.Committed.Add(c.conn.Lag())
	}
	if late := c.until(p).Add(-c.conn.SessionTimeout() / 4); late.Before(due) && !p.Next.IsZero() {
		due = later(p.Next, late)
	}
	return later(due, c.contacts.tried.Add(c.conn.Lag()/4)) // after a failure
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// impatience is how long a write may stay unanswered before the client switches to another
// server: long for a working ensemble, short for a lease. It doubles while no server completes
// a write, to spare a slow ensemble. The caller holds c.mu.
func (c *Client) impatience() time.Duration {
	return max(c.contacts.patient, c.conn.SessionTimeout()/8, 500*time.Millisecond)
}

// contact proves the session alive, unless another write has proven more than since.
func (c *Client) contact(since time.Time) error {
	c.contacts.one.Lock()
	defer c.contacts.one.Unlock()
	if c.conn.Proof().Since.After(since) {
		return nil
	}
	_, err := c.conn.Multi(&zk.CheckVersionRequest{Path: c.contactPath(), Version: -1})
	if errors.Is(err, zk.ErrNoAuth) || errors.Is(err, zk.ErrNoNode) {
		c.mu.Lock()
		c.contacts.below = !c.contacts.below
		c.mu.Unlock()
		_, err = c.conn.Multi(&zk.CheckVersionRequest{Path: c.contactPath(), Version: -1})
	}
	return err
}

func (c *Client) contactPath() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.contacts.below {
		for l := range c.leases {
			return l.q.path
		}
		for t := range c.contacts.waits { // perhaps not readable, or not there yet
			return t.q.path
		}
	}
	return "/"
}

// assure returns when a lease that begins now lasts for a while. A message of a server that is
// cut off from the others, such as a delayed event, does not prove that the session is alive.
func (c *Client) assure(ctx context.Context) error {
	for {
		p := c.conn.Proof()
		if c.clock.Until(c.until(p)) >= c.conn.SessionTimeout()/10 {
			return nil
		}
		if wait := c.clock.Until(p.Next); !p.Next.IsZero() && wait > 0 {
			if err := awaited(ctx, c.open, time.After(wait)); err != nil {
				return err
			}
		}
		if err := c.contact(p.Since); err != nil {
			return err
		}
	}
}

// ErrMargin is an ErrUsage. Dial returns it if ClientOptions.Margin is negative or makes leases
// too short to be renewed. Lock returns it if the servers grant a later session too little time.
var ErrMargin = fmt.Errorf("%w: margin", ErrUsage)

// term returns how long after a proof a session of that timeout is assumed to be alive.
func term(timeout, margin time.Duration) time.Duration {
	return timeout - cmp.Or(margin, timeout/10)
}

// leastTerm returns the shortest term of a usable lease. A contact proves the state lag before
// it, and the next contact comes lag later; the rest is for its answer.
func leastTerm(timeout, lag time.Duration) time.Duration { return 2*lag + timeout/20 }

// checkTerm returns ErrMargin if leases of this session would end although contacts succeed, or
// would never begin.
func (c *Client) checkTerm() error {
	timeout, lag := c.conn.SessionTimeout(), c.conn.Lag()
	most := timeout - leastTerm(timeout, lag)
	switch {
	case term(timeout, c.margin) >= leastTerm(timeout, lag):
		return nil
	case most <= 0:
		return fmt.Errorf("%w: none fits into a session timeout of %v with such ticks, because servers may hear from a client %v late", ErrMargin, timeout, lag)
	default:
		return fmt.Errorf("%w: %v of a session timeout of %v; want at most %v", ErrMargin, c.margin, timeout, most)
	}
}

// checkTimes returns an error for impossible options, [Client.checkTerm] for a granted timeout.
func checkTimes(timeout, margin, tick time.Duration) error {
	switch {
	case timeout < 0 || timeout > 0 && timeout < time.Millisecond:
		return fmt.Errorf("%w: %v, want a millisecond or more, or 0 for the default", ErrSessionTimeout, timeout)
	case timeout > zksession.MaxSessionTimeout:
		return fmt.Errorf("%w: %v, want at most %v, the most that the protocol can say", ErrSessionTimeout, timeout, zksession.MaxSessionTimeout)
	case margin < 0:
		return fmt.Errorf("%w: %v, want 0 for the default or more", ErrMargin, margin)
	case timeout > 0 && margin >= timeout:
		return fmt.Errorf("%w: %v of a session timeout of %v", ErrMargin, margin, timeout)
	case tick < 0:
		return fmt.Errorf("%w: ticks of %v", ErrUsage, tick)
	}
	return nil
}
