package zksession

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// maxGreeting is more than the reply to a handshake has.
const maxGreeting = 1024

var errProtocol = errors.New("the server speaks another protocol")

// foreign returns the error of a reply that is not of ZooKeeper's protocol.
func foreign(head []byte) error {
	const alert, version = 21, 3 // a TLS record: its type, and the first byte of its version
	if head[0] == alert && head[1] == version {
		return fmt.Errorf("%w: TLS", errProtocol)
	}
	return fmt.Errorf("%w: its reply begins with %q", errProtocol, head)
}

// closes returns the error of a server that accepts a connection and closes it.
func closes(err error) error {
	return fmt.Errorf("the server closes the connection (%w): it does not serve now, it has too many connections from this address (maxClientCnxns), it wants TLS, or it is not a ZooKeeper server", err)
}

// unanswered notes that a handshake was not answered.
func (c *conn) unanswered(err error) {
	var why error
	remote := new(net.OpError)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.owner.hosts.hangs(c.address)
		why = errors.New("the server accepts connections and does not answer: it hangs, it wants TLS, or it is not a ZooKeeper server")
	case errors.Is(err, errProtocol),
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

// handshakeWait is how long a server may take for the handshake if so many have
// not done it in time. A stopped one accepts connections: a client that stays with
// it loses time in which another would serve.
func handshakeWait(timeout time.Duration, hung int) time.Duration {
	most := max(timeout/3, 200*time.Millisecond)
	return min(most, max(timeout/8, 500*time.Millisecond)<<min(hung, 8))
}

// handshakes is what became of the handshakes since the last that was answered.
type handshakes struct {
	hung     int // how many in a row were not answered in time
	forgiven int // how often that count has begun again

	refused time.Time // since when the servers do not take up the session; zero if they do
}

// failed takes up how a handshake ended that was not answered. A server that
// breaks the connection is not slow: it has no leader, and most likely the others
// have none. As soon as they have, a client that waits long at the one that hangs
// waits for nothing. So the next wait is a short one, but not for ever: where a
// server refuses all the time, the others may be slow.
func (h *handshakes) failed(err error) {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		h.hung++
	case h.hung > 0 && h.forgiven < shortRounds:
		h.hung = 0
		h.forgiven++
	}
}
