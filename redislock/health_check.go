package redislock

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A healthCheck watches the connections on which a client listens. Silence is normal there, so
// a server that hangs, or was replaced meanwhile, would show only at the end of the blocking
// pop, for a subscription never. When a connection has been silent for a while, the check
// dials again, sends PING without a name or a password, and accepts any answer. If there is
// none, or Sentinel names another server by now, it closes the silent connections, and their
// waiters ask again. Without Sentinel a different address proves nothing, because a name may
// stand for several. If no server can replace another, there is no health check.
//
// An acquisition costs nothing extra, and a wait one short connection now and then. Shorter
// pops would also serve a mailbox, but cost more requests, and the library adds ten seconds to
// each. A PING on the connection would serve a subscription, but needs one more right.
type healthCheck struct {
	dial     dialFunc
	sentinel bool // dial finds the server by Sentinel
	interval time.Duration
	timeout  time.Duration

	mu      sync.Mutex
	conns   map[*watched]bool // the open ones
	running bool
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
	return (&healthCheck{dial: dial, sentinel: server == byFailover, interval: healthCheckInterval, timeout: healthCheckTimeout}).dialer(c)
}

func (h *healthCheck) dialer(c *Client) dialFunc {
	h.conns = make(map[*watched]bool)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := h.dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w := &watched{Conn: conn, h: h, network: network, addr: addr, peer: peer(conn)}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.conns[w] = true
		if !h.running {
			h.running = c.spawn(func() { h.run(c) })
		}
		if raw, ok := conn.(syscall.Conn); ok { // the library uses it to check whether it is broken
			return watchedSocket{w, raw}, nil
		}
		return w, nil
	}
}

func (h *healthCheck) run(c *Client) {
	for c.pause(c.open, h.interval/5) && h.needed() {
		for _, w := range h.silent(time.Now()) {
			h.settle(w, h.answers(c.open, w))
		}
	}
}

func (h *healthCheck) needed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running = len(h.conns) > 0
	return h.running
}

func (h *healthCheck) silent(now time.Time) map[string]*watched {
	h.mu.Lock()
	defer h.mu.Unlock()
	ws := make(map[string]*watched)
	for w := range h.conns {
		if since := w.since.Load(); since != 0 && now.Sub(time.Unix(0, since)) >= w.next() {
			ws[w.addr+" "+w.peer] = w
		}
	}
	return ws
}

// answers reports whether the server behind a new connection answers and is the server of w.
func (h *healthCheck) answers(ctx context.Context, w *watched) bool {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	conn, err := h.dial(ctx, w.network, w.addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	if h.sentinel && peer(conn) != w.peer {
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

// settle closes all connections that are silent like w, unless the server is well.
func (h *healthCheck) settle(w *watched, well bool) {
	now := time.Now().UnixNano()
	var dead []*watched
	h.mu.Lock()
	for o := range h.conns {
		since := o.since.Load()
		switch same := o.addr == w.addr && o.peer == w.peer && since != 0; {
		case same && well:
			o.since.CompareAndSwap(since, now)
			o.rest.Store(int64(min(2*o.next(), healthCheckBackoff*h.interval)))
		case same:
			dead = append(dead, o)
		}
	}
	h.mu.Unlock()
	for _, o := range dead {
		o.Close()
	}
}

type watched struct {
	net.Conn
	h             *healthCheck
	network, addr string       // as dialled
	peer          string       // remote address
	since         atomic.Int64 // Unix nanoseconds: the last byte or check; 0 while nothing is read
	rest          atomic.Int64 // nanoseconds from the last check to the next; 0 before the first
}

func (w *watched) next() time.Duration {
	return max(w.h.interval, time.Duration(w.rest.Load()))
}

func peer(conn net.Conn) string {
	if addr := conn.RemoteAddr(); addr != nil {
		return addr.String()
	}
	return ""
}

type watchedSocket struct {
	*watched
	syscall.Conn
}

func (w *watched) Read(p []byte) (int, error) {
	w.since.Store(time.Now().UnixNano())
	n, err := w.Conn.Read(p)
	w.since.Store(0)
	w.rest.Store(0)
	return n, err
}

func (w *watched) Close() error {
	w.h.mu.Lock()
	delete(w.h.conns, w)
	w.h.mu.Unlock()
	return w.Conn.Close()
}
