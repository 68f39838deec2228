package zksession

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

type ends struct {
	script
	err error
}

func (e *ends) Read([]byte) (int, error) { return 0, e.err }

// TestHandshakeFails: only a failure before the handshake counts as a hung server. A broken
// connection keeps the next wait for a hung server short for a while.
func TestHandshakeFails(t *testing.T) {
	z, _ := newConn(nil)
	z.timeout.Store(int64(4 * time.Second))
	step := 0
	expect := func(err error, answered bool, want int) {
		t.Helper()
		step++
		server := fmt.Sprint("server ", step)
		c := &conn{Conn: &ends{err: err}, owner: z, address: server}
		if answered {
			c.read(words(0, 4000))
		}
		c.Read(make([]byte, 1))
		if z.shakes.hung != want {
			t.Errorf("step %d: %d have hung, want %d", step, z.shakes.hung, want)
		}
		if hung := err == os.ErrDeadlineExceeded; z.hosts.hung[server] != hung {
			t.Errorf("step %d: the server is left out: %t, want %t", step, !hung, hung)
		}
	}
	expect(os.ErrDeadlineExceeded, false, 1)
	expect(net.ErrClosed, false, 1)
	expect(os.ErrDeadlineExceeded, false, 2)
	expect(io.EOF, true, 0)
	for range shortRounds {
		expect(os.ErrDeadlineExceeded, false, 1)
		expect(io.EOF, false, 0)
	}
	expect(os.ErrDeadlineExceeded, false, 1)
	expect(io.EOF, false, 1) // too often
	expect(os.ErrDeadlineExceeded, false, 2)
}
