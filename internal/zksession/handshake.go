package zksession

import (
	"errors"
	"os"
	"time"
)

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
