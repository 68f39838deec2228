package zksession

import (
	"locklab/internal/wire"
	"slices"
	"time"
)

// linger keeps an unused connection's socket open until the session would time out, if the
// server has not answered the request to end it, and reports whether it does. A closed socket
// refuses answers: then the server drops the unread requests, and the session stays.
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
