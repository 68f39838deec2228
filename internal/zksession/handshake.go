package zksession

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"locklab/internal/wire"
)

// maxGreeting is longer than any reply to a handshake.
const maxGreeting = 1024

func closes(err error) error {
	return fmt.Errorf("the server closes the connection (%w): it does not serve now, it has too many connections from this address (maxClientCnxns), it wants TLS, or it is not a ZooKeeper server", err)
}

func (c *conn) unanswered(err error) {
	var why error
	remote := new(net.OpError)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.owner.hosts.hangs(c.address)
		why = errors.New("the server accepts connections and does not answer: it hangs, it wants TLS, or it is not a ZooKeeper server")
	case errors.Is(err, wire.ErrForeign),
		errors.As(err, &remote) && remote.Op == "remote error": // TLS 1.3 reports after the handshake that it lacks a certificate
		why = err
	default:
		why = closes(err)
	}
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	c.owner.shakes.failed(err)
	if !c.begins && c.owner.shakes.refused.IsZero() {
		c.owner.shakes.refused = c.owner.time()
	}
	c.owner.refused = fmt.Errorf("%s: %w", c.address, why)
}

// handshakeWait is the limit for the handshake after hung late ones. A client that waits for a
// stopped server, which accepts connections, loses time in which another would serve.
func handshakeWait(timeout time.Duration, hung int) time.Duration {
	most := max(timeout/3, 200*time.Millisecond)
	return min(most, max(timeout/8, 500*time.Millisecond)<<min(hung, 8))
}

// handshakes counts failed handshakes since the last answered one.
type handshakes struct {
	hung     int // consecutive late handshakes
	forgiven int // how often that count was reset

	refused time.Time // since when the servers do not resume the session; zero if they do
}

// failed records an unanswered handshake. A server that breaks the connection has no leader;
// when the others have one again, a long wait for the hung server is pointless. So the next
// wait is short, but not forever: if a server always refuses, the others may be slow.
func (h *handshakes) failed(err error) {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		h.hung++
	case h.hung > 0 && h.forgiven < shortRounds:
		h.hung = 0
		h.forgiven++
	}
}

// A server closes the connection of a session that has seen a later zxid than its own. After a
// restore of older data all servers do, forever. So if no server has resumed the session for
// its timeout, the client looks for such a server, and begins another session if there is one.

// stale reports whether to look, and returns the handshake.
func (z *Conn) stale() (hello []byte, is bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	refused := z.shakes.refused
	return z.hello, !refused.IsZero() && z.time().Sub(refused) > z.SessionTimeout()
}

// replaced returns a connection that ends the session for the library, if server does not have
// it any more, or nil if server may resume it. It closes server.
func (z *Conn) replaced(server net.Conn, hello []byte) (net.Conn, error) {
	defer server.Close()
	defer context.AfterFunc(z.dialing, func() { server.Close() })()
	server.SetDeadline(time.Now().Add(handshakeWait(z.SessionTimeout(), 0)))
	over, err := isOlder(server, hello)
	if !over {
		return nil, err
	}
	return newEnded(server), nil
}

func (z *Conn) expired() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.shakes = handshakes{}
}

// isOlder resumes the session at a server as if the client had seen nothing, and reports
// whether it is over: unknown there, or with older data, when isOlder ends it.
func isOlder(server net.Conn, hello []byte) (bool, error) {
	hello = bytes.Clone(hello)
	seen := binary.BigEndian.Uint64(hello[wire.HelloZxid:])
	binary.BigEndian.PutUint64(hello[wire.HelloZxid:], 0)
	reply, err := ask(server, hello)
	if err != nil {
		return false, err
	}
	if timeout, ok := word(reply, 1); !ok || timeout <= 0 {
		return true, nil
	}
	const ping, closing = -2, 1 // xids
	if reply, err = ask(server, wire.Request(ping, wire.OpPing)); err != nil {
		return false, err
	}
	if len(reply) < 12 {
		return false, fmt.Errorf("%w: a short reply to a ping", wire.ErrForeign)
	}
	if binary.BigEndian.Uint64(reply[4:]) >= seen {
		return false, nil
	}
	_, err = ask(server, wire.Request(closing, wire.OpCloseSession))
	return err == nil, err
}

func ask(server net.Conn, packet []byte) ([]byte, error) {
	if _, err := server.Write(packet); err != nil {
		return nil, err
	}
	return wire.ReadFrame(server, maxGreeting)
}

// ended is a connection to a server that does not have the session.
type ended struct {
	net.Conn
	reply *bytes.Reader
}

func newEnded(of net.Conn) ended {
	const size = 4 + 4 + 8 + 4 + 16 + 1 // version, timeout, session, password, read-only
	reply := binary.BigEndian.AppendUint32(nil, size)
	reply = append(reply, make([]byte, size)...)
	reply[wire.LengthBytes+4+4+8+3] = 16 // the password's length
	return ended{of, bytes.NewReader(reply)}
}

func (e ended) Read(p []byte) (int, error)       { return e.reply.Read(p) }
func (e ended) Write(p []byte) (int, error)      { return len(p), nil }
func (e ended) Close() error                     { return nil }
func (e ended) SetReadDeadline(time.Time) error  { return nil }
func (e ended) SetWriteDeadline(time.Time) error { return nil }
