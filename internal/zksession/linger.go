package zksession

import (
	"slices"
	"time"
)

// linger keeps the socket of a connection open, which nobody uses any more, until the
// session would time out, and reports whether it does. It does if the server has not
// answered yet to the request to end the session. A socket that is closed refuses the
// answers to the requests before that one: the server then drops what it has not read of
// the connection, and the session stays until it times out.
func (c *conn) linger() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lingers || !slices.ContainsFunc(c.pending, func(s sent) bool { return s.op == opCloseSession }) {
		return c.lingers
	}
	c.lingers = true
	time.AfterFunc(c.owner.SessionTimeout(), func() { c.Conn.Close() })
	c.Conn.SetDeadline(time.Unix(1, 0)) // ends the library's reads and writes
	return true
}
