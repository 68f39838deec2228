package zksession

import (
	"errors"
	"fmt"
	"locklab/internal/wire"
	"net"
	"os"
	"time"
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
