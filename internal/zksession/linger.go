package zksession

import (
	"locklab/internal/wire"
	"slices"
	"time"
)

// linger keeps an unused connection's socket open until the session would time out, if the
// server has not answered the request to end the session, and reports whether it does. A closed
// socket would refuse the answers to earlier requests: then the server drops the unread rest of
// the connection, and the session stays until it times out.
func (c *conn) linger() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lingers || !slices.ContainsFunc(c.pending, func(s sent) bool { return s.op == wire.OpCloseSession }) {
		return c.lingers
	}
	c.lingers = true
	time.AfterFunc(c.owner.SessionTimeout(), func() { c.Conn.Close() })
	c.Conn.SetDeadline(time.Unix(1, 0)) // ends the library's reads and writes
	return true
}
