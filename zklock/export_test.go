package zklock

import "github.com/go-zookeeper/zk"

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
	return m.c.grant(&Lease{}, t.session), nil
}

// Unseal makes c one whose servers do not enforce ACLs.
func Unseal(c *Client) { seals(c, nil) }

// Forge makes c claim a seal that its tickets do not have: the ACL of their
// lock lets everybody write.
func Forge(c *Client) { seals(c, c.acl) }

// Estrange makes c seal its tickets with an identity that the servers do not
// take for its own.
func Estrange(c *Client) { seals(c, sealed(c.acl, "somebody", "else")) }

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
const Marker = marker

// Node returns the path of the ticket of l.
func Node(l *Lease) string { return l.path + "/" + l.node }

// Fair makes m the lock zk-fair.
func Fair(m *Mutex) *Mutex { m.p = fairQueue; return m }
