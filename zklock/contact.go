package zklock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/zksession"
)

// A client knows that its session lives by the writes that a majority of the
// servers has committed (zksession.Proof, docs/decisions/0009-zk-contact.md). While it
// holds or waits for something it sees to it that there is one often enough: a
// contact, which is a multi of one check, if it writes nothing else.

// contacts is when a client sends them. Guarded by Client.mu, but for one.
type contacts struct {
	timer   *time.Timer      // not nil while the client holds or waits
	waits   map[*ticket]bool // in the queue: true if it waits, false if it is to be removed
	busy    bool             // the timer has sent one, which is not answered
	tried   time.Time        // when that was
	patient time.Duration    // more than usual, if 0 is not enough; see impatience
	told    bool             // of a failure since one was sent
	below   bool             // the root may not be read: check a node of ours

	one sync.Mutex // held while a contact is on its way
}

// deadline returns until when the session certainly lives, less the margin.
func (c *Client) deadline() time.Time { return c.until(c.conn.Proof()) }

func (c *Client) until(p zksession.Proof) time.Time {
	return p.Since.Add(term(c.conn.SessionTimeout(), c.margin))
}

// waiting notes that t queues from now on, or reports false if no lock is taken any more.
func (c *Client) waiting(t *ticket) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open.Err() != nil {
		return false
	}
	c.line.Add(1)
	k := &c.contacts
	if k.waits == nil {
		k.waits = make(map[*ticket]bool)
	}
	k.waits[t] = true
	if k.timer == nil {
		k.timer = time.AfterFunc(c.conn.Lag()/4, c.keepContact) // a request of its own comes first
	}
	return true
}

// waited notes that t does not queue any more.
func (c *Client) waited(t *ticket) {
	c.gone(t)
	c.line.Done()
}

// stays notes that t, which has waited, is still in the queue.
func (c *Client) stays(t *ticket) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.contacts.waits[t] = false
}

// gone notes that t is not in the queue.
func (c *Client) gone(t *ticket) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.contacts.waits, t)
}

// keepContact does what is due, and comes again as long as the client holds or
// waits.
func (c *Client) keepContact() {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := &c.contacts
	if c.closed || len(c.leases) == 0 && len(k.waits) == 0 {
		k.timer = nil
		return
	}
	if len(c.traced) > 0 {
		c.work.Go(c.renewed) // by what was written
	}
	k.timer.Reset(max(time.Millisecond, c.doContact(c.conn.Proof(), c.clock.Now())))
}

// doContact sends a contact if one is due, turns to another server if this one
// does not get a write done, and returns when to look again. The caller holds c.mu.
func (c *Client) doContact(p zksession.Proof, now time.Time) time.Duration {
	k, soon := &c.contacts, c.conn.Lag()/4
	switch {
	case !p.Unanswered.IsZero():
		if left := p.Unanswered.Add(c.impatience()).Sub(now); left > 0 {
			return min(left, soon)
		}
		if c.servers > 1 {
			k.patient = min(2*c.impatience(), c.conn.SessionTimeout())
			c.work.Go(c.conn.Cut)
		}
		c.renewalFailed(fmt.Errorf("zklock: no server has answered a write for %v", now.Sub(p.Unanswered).Round(time.Millisecond)))
		return c.impatience()
	case !p.Committed.IsZero() && c.isUp: // not of a connection that is lost
		k.patient, k.told = 0, false
	}
	if left := c.contactDue(p, now).Sub(now); left > 0 {
		return left
	}
	switch {
	case !c.isUp:
		c.renewalFailed(errNoConnection)
	case !k.busy: // else its end, or the next session, will say
		k.busy, k.tried = true, now
		c.work.Go(func() { c.contacted(c.contact(p.Since)) })
	}
	return soon
}

// errNoConnection is why no server confirms the session.
var errNoConnection = errors.New("zklock: no connection to a server that could confirm the session")

// contacted notes what has come of a contact that the timer has sent.
func (c *Client) contacted(err error) {
	c.mu.Lock()
	c.contacts.busy = false
	if err != nil && !c.closed {
		c.renewalFailed(fmt.Errorf("zklock: confirm the session: %w", err))
	}
	c.mu.Unlock()
	if err == nil {
		c.renewed()
	}
}

// contactDue returns when the next contact is to be sent: at once on a new
// connection, then as soon as it proves that the server heard of the last write,
// or, if little is left of the lease, as soon as it proves anything. The caller
// holds c.mu.
func (c *Client) contactDue(p zksession.Proof, now time.Time) time.Time {
	due := now
	if !p.Committed.IsZero() {
		due = p.Committed.Add(c.conn.Lag())
	}
	if late := c.until(p).Add(-c.conn.SessionTimeout() / 4); late.Before(due) && !p.Next.IsZero() {
		due = later(p.Next, late)
	}
	return later(due, c.contacts.tried.Add(c.conn.Lag()/4)) // if it has failed
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// impatience is how long a write may go unanswered before the client turns to
// another server, where the session lives on if only this one is cut off: long for
// an ensemble that serves, and short enough for a lease. It doubles as long as no
// server gets one done, not to burden an ensemble that is slow. The caller holds
// c.mu.
func (c *Client) impatience() time.Duration {
	return max(c.contacts.patient, c.conn.SessionTimeout()/8, 500*time.Millisecond)
}

// contact proves that the session lives, unless something else has proven more
// than since when this one was due.
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

// contactPath returns a node that is there and that the client may read.
func (c *Client) contactPath() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.contacts.below {
		for t := range c.contacts.waits {
			return t.q.path
		}
		for l := range c.leases {
			return l.path
		}
	}
	return "/"
}

// assure returns when a lease that begins now lasts for a while. What a server
// says that is cut off from the others, such as an event that was on its way for
// long, is no proof that the session lives.
func (c *Client) assure(ctx context.Context) error {
	for {
		p := c.conn.Proof()
		if c.clock.Until(c.until(p)) >= c.conn.SessionTimeout()/10 {
			return nil
		}
		if wait := c.clock.Until(p.Next); !p.Next.IsZero() && wait > 0 {
			timer := time.NewTimer(wait)
			err := awaited(ctx, c.open, timer.C)
			timer.Stop()
			if err != nil {
				return err
			}
		}
		if err := c.contact(p.Since); err != nil {
			return err
		}
	}
}
