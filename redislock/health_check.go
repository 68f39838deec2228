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

// A healthCheck watches the connections by which a client listens. Silence there is
// normal, so a server that hangs, or another that has taken its place while it
// does, would show only when the blocking pop is over; and a subscription waits for
// ever. Therefore, once a connection has been silent for a while, the check dials as
// it was dialled, says PING without a name or a password, and takes any answer. If
// there is none, or Sentinel names another server by now, it closes the connections that
// are silent, and their waiters ask again. That a name leads to another address without
// Sentinel tells nothing: it may stand for several. Where no server takes the place of
// another there is no health check.
//
// An acquisition costs nothing that way, and a wait one connection for a moment now and
// then: long waits are most often those of a standby for a leader, and there may be many.
// Shorter pops would do it for a mailbox, by more requests of waiters, and the library
// adds ten seconds to each; a PING on the connection would do it for a subscription, with
// one more right of the user.
type healthCheck struct {
	dial     dialFunc
	sentinel bool // by which dial finds its way
	interval time.Duration
	timeout  time.Duration

	mu      sync.Mutex
	conns   map[*watched]bool // those that are open
	running bool
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

const (
	// healthCheckInterval is after how much silence a connection is checked. While nothing
	// comes each interval is twice the one before, up to healthCheckBackoff of the first.
	healthCheckInterval = 5 * time.Second
	healthCheckBackoff  = 4

	// healthCheckTimeout is how long a server may take to answer: as long as the client
	// library lets it.
	healthCheckTimeout = 3 * time.Second
)

// byFailover is what the client library calls the server that Sentinel names.
const byFailover = "FailoverClient"

// watch returns a dialer whose connections are checked until c closes. server is
// what the options of the client library call the server.
func (c *Client) watch(dial dialFunc, server string) dialFunc {
	return (&healthCheck{dial: dial, sentinel: server == byFailover, interval: healthCheckInterval, timeout: healthCheckTimeout}).dialer(c)
}

// dialer returns a dialer whose connections h checks.
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
		if raw, ok := conn.(syscall.Conn); ok { // by which the library sees whether it is broken
			return watchedSocket{w, raw}, nil
		}
		return w, nil
	}
}

// run checks the connections until there are none, or c closes.
func (h *healthCheck) run(c *Client) {
	for c.pause(c.open, h.interval/5) && h.needed() {
		for _, w := range h.silent(time.Now()) {
			h.settle(w, h.answers(c.open, w))
		}
	}
}

// needed reports whether there are connections. If not, the checks end.
func (h *healthCheck) needed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running = len(h.conns) > 0
	return h.running
}

// silent returns a connection for each address to which one has been silent.
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

// answers reports whether the server to which a new connection leads answers, and is that
// of w.
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

// settle closes the connections that are silent as w is, unless the server is well: then
// it waits for the next silence.
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

// A watched connection knows since when it has been silent.
type watched struct {
	net.Conn
	h             *healthCheck
	network, addr string       // as it was dialled
	peer          string       // where that led
	since         atomic.Int64 // Unix nanoseconds: the last byte or check; 0 while nothing is read
	rest          atomic.Int64 // nanoseconds from the last check to the next; 0 before the first
}

// next returns after how much silence w is checked.
func (w *watched) next() time.Duration {
	return max(w.h.interval, time.Duration(w.rest.Load()))
}

// peer returns where conn leads, "" if it does not say.
func peer(conn net.Conn) string {
	if addr := conn.RemoteAddr(); addr != nil {
		return addr.String()
	}
	return ""
}

// A watchedSocket is one whose socket the client library may examine.
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
