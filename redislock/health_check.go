package redislock

import (
	"context"
	"io"
	"net"
	"syscall"
	"time"
)

// A healthCheck watches the connections on which a client listens. Silence is normal there, so
// a server that hangs, or was replaced meanwhile, would show only at the end of the blocking
// pop, for a subscription never. When a connection has been silent for a while, the check
// dials again, sends PING without a name or a password, and accepts any answer. If there is
// none, or Sentinel names another server by now, it closes the silent connection, and its
// waiters ask again. Without Sentinel a different address proves nothing, because a name may
// stand for several. If no server can replace another, there is no health check.
//
// An acquisition costs nothing extra, and a wait one short connection now and then. Shorter
// pops would also serve a mailbox, but cost more requests, and the library adds ten seconds to
// each. A PING on the connection would serve a subscription, but needs one more right.
type healthCheck struct {
	c        *Client
	dial     dialFunc
	sentinel bool // dial finds the server by Sentinel
	interval time.Duration
	timeout  time.Duration
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

const (
	// healthCheckInterval is the silence after which a connection is checked. While nothing
	// arrives, each interval is twice the one before, up to healthCheckBackoff times the first.
	healthCheckInterval = 5 * time.Second
	healthCheckBackoff  = 4

	// healthCheckTimeout is how long a server may take to answer, as in the client library.
	healthCheckTimeout = 3 * time.Second
)

// byFailover is the client library's placeholder for the address that Sentinel names.
const byFailover = "FailoverClient"

// watch returns a dialer of checked connections to server, until c closes.
func (c *Client) watch(dial dialFunc, server string) dialFunc {
	return (&healthCheck{c, dial, server == byFailover, healthCheckInterval, healthCheckTimeout}).connect
}

func (h *healthCheck) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := h.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	w := &watched{conn, h, network, addr}
	if raw, ok := conn.(syscall.Conn); ok { // the library uses it to check whether it is broken
		return watchedSocket{w, raw}, nil
	}
	return w, nil
}

type watched struct {
	net.Conn
	h             *healthCheck
	network, addr string // as dialled
}

type watchedSocket struct {
	*watched
	syscall.Conn
}

// Read has the server checked while nothing arrives.
func (w *watched) Read(p []byte) (int, error) {
	silent, end := context.WithCancel(w.h.c.open)
	defer end()
	defer time.AfterFunc(w.h.interval, func() { w.h.c.spawn(func() { w.check(silent) }) }).Stop()
	return w.Conn.Read(p)
}

// check closes the connection if the server is not well before silent ends.
func (w *watched) check(silent context.Context) {
	for rest := 2 * w.h.interval; w.isWell(silent); rest = min(2*rest, healthCheckBackoff*w.h.interval) {
		if !w.h.c.pause(silent, rest) {
			return
		}
	}
	if silent.Err() == nil {
		w.Close()
	}
}

// isWell reports whether the server behind a new connection answers and is the server of w.
func (w *watched) isWell(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, w.h.timeout)
	defer cancel()
	conn, err := w.h.dial(ctx, w.network, w.addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	if w.h.sentinel && peer(conn) != peer(w) {
		return false
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return false
	}
	_, err = conn.Read(make([]byte, 1))
	return err == nil
}

func peer(conn net.Conn) string {
	if addr := conn.RemoteAddr(); addr != nil {
		return addr.String()
	}
	return ""
}
