package zksession

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// TestHandshakes: a broken connection keeps the next wait for a hung server short for a while.
func TestHandshakes(t *testing.T) {
	var h handshakes
	step := func(what string, err error, want int) {
		t.Helper()
		if h.failed(err); h.hung != want {
			t.Errorf("%s: %d have hung, want %d", what, h.hung, want)
		}
	}
	step("refused", io.EOF, 0)
	step("hung", os.ErrDeadlineExceeded, 1)
	step("hung again", os.ErrDeadlineExceeded, 2)
	for range shortRounds {
		step("refused", io.EOF, 0)
		step("hung", os.ErrDeadlineExceeded, 1)
	}
	step("refused too often", io.EOF, 1)
	step("hung", os.ErrDeadlineExceeded, 2)
}

type ends struct {
	script
	err error
}

func (e *ends) Read([]byte) (int, error) { return 0, e.err }

// TestHandshakeFails: only a failure before the handshake counts as a hung server.
func TestHandshakeFails(t *testing.T) {
	z := &Conn{counter: new(Counter), hosts: new(hosts)}
	z.timeout.Store(int64(4 * time.Second))
	for k, step := range []struct {
		err      error
		answered bool
		want     int
	}{
		{os.ErrDeadlineExceeded, false, 1},
		{net.ErrClosed, false, 1},
		{os.ErrDeadlineExceeded, false, 2},
		{io.EOF, true, 0},
		{os.ErrDeadlineExceeded, false, 1},
		{io.EOF, false, 0},
	} {
		server := fmt.Sprint("server ", k)
		c := &conn{Conn: &ends{err: step.err}, owner: z, address: server}
		if step.answered {
			c.read(words(0, 4000))
		}
		c.Read(make([]byte, 1))
		if z.shakes.hung != step.want {
			t.Errorf("step %d: %d have hung, want %d", k, z.shakes.hung, step.want)
		}
		if hung := step.err == os.ErrDeadlineExceeded; z.hosts.hung[server] != hung {
			t.Errorf("step %d: the server is left out: %t, want %t", k, !hung, hung)
		}
	}
}
