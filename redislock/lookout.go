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

// A lookout watches the connections by which a client listens. Silence there is what
// they are for, so a server that hangs, or another that has taken its place while it
// does, would show only when the blocking pop is over; and a subscription waits for
// ever. Therefore, once a connection has been silent for a while, the lookout dials as
// it was dialled, says PING without a name or a password, and takes any answer. If
// there is none, or Sentinel names another server by now, it closes those that are
// silent, and whoever waits asks again. That a name leads to another address without
// Sentinel tells nothing: it may stand for several. Where nobody takes the place of a
// server there is no lookout.
//
// A turn costs nothing that way, and a wait one connection for a moment now and then: most
// often those wait for long who stand by to become the leader, and there may be many.
// Shorter pops would do it for a mailbox, by more requests of who waits, and the library
// adds ten seconds to each; a PING on the connection would do it for a subscription, with
// one more right of the user.
type lookout struct {
	dial     dialFunc
	sentinel bool // by whom dial finds its way
	every    time.Duration
	patience time.Duration

	mu    sync.Mutex
	conns map[*watched]bool // those that are open
	busy  bool              // somebody looks
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

const (
	// lookoutEvery is after how much silence a connection is looked after. While nothing
	// comes the next times are twice as far apart each, up to lookoutMost of it.
	lookoutEvery = 5 * time.Second
	lookoutMost  = 4

	// lookoutPatience is how long a server may take to answer: as long as the client
	// library lets it.
	lookoutPatience = 3 * time.Second
)

// byFailover is what the client library calls the server that Sentinel names.
const byFailover = "FailoverClient"

// watch returns a dialer whose connections are looked after until c closes. server is
// what the options of the client library call the server.
func (c *Client) watch(dial dialFunc, server string) dialFunc {
	return (&lookout{dial: dial, sentinel: server == byFailover, every: lookoutEvery, patience: lookoutPatience}).dialer(c)
}

// dialer returns a dialer whose connections l looks after.
func (l *lookout) dialer(c *Client) dialFunc {
	l.conns = make(map[*watched]bool)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := l.dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w := &watched{Conn: conn, l: l, network: network, addr: addr, peer: peer(conn)}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.conns[w] = true
		if !l.busy {
			l.busy = c.spawn(func() { l.look(c) })
		}
		if raw, ok := conn.(syscall.Conn); ok { // by which the library sees whether it is broken
			return watchedSocket{w, raw}, nil
		}
		return w, nil
	}
}

// look looks after the connections until there are none, or c closes.
func (l *lookout) look(c *Client) {
	for c.pause(c.open, l.every/5) && l.needed() {
		for _, w := range l.silent(time.Now()) {
			l.settle(w, l.answers(c.open, w))
		}
	}
}

// needed reports whether there are connections, and if not, nobody looks any more.
func (l *lookout) needed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = len(l.conns) > 0
	return l.busy
}

// silent returns a connection for each address to which one has been silent.
func (l *lookout) silent(now time.Time) map[string]*watched {
	l.mu.Lock()
	defer l.mu.Unlock()
	ws := make(map[string]*watched)
	for w := range l.conns {
		if since := w.since.Load(); since != 0 && now.Sub(time.Unix(0, since)) >= w.next() {
			ws[w.addr+" "+w.peer] = w
		}
	}
	return ws
}

// answers reports whether the server to which one is connected who dials now answers,
// and is that of w.
func (l *lookout) answers(ctx context.Context, w *watched) bool {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	conn, err := l.dial(ctx, w.network, w.addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	if l.sentinel && peer(conn) != w.peer {
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
func (l *lookout) settle(w *watched, well bool) {
	now := time.Now().UnixNano()
	var dead []*watched
	l.mu.Lock()
	for o := range l.conns {
		since := o.since.Load()
		switch same := o.addr == w.addr && o.peer == w.peer && since != 0; {
		case same && well:
			o.since.CompareAndSwap(since, now)
			o.rest.Store(int64(min(2*o.next(), lookoutMost*l.every)))
		case same:
			dead = append(dead, o)
		}
	}
	l.mu.Unlock()
	for _, o := range dead {
		o.Close()
	}
}

// A watched connection knows since when it has been silent.
type watched struct {
	net.Conn
	l             *lookout
	network, addr string       // as it was dialled
	peer          string       // where that led
	since         atomic.Int64 // Unix nanoseconds: the last byte or look; 0 while nobody reads
	rest          atomic.Int64 // nanoseconds from the last look to the next; 0 before the first
}

// next returns after how much silence w is looked after.
func (w *watched) next() time.Duration {
	return max(w.l.every, time.Duration(w.rest.Load()))
}

// peer returns where conn leads, "" if it does not say.
func peer(conn net.Conn) string {
	if addr := conn.RemoteAddr(); addr != nil {
		return addr.String()
	}
	return ""
}

// A watchedSocket is one whose socket the client library may look at.
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
	w.l.mu.Lock()
	delete(w.l.conns, w)
	w.l.mu.Unlock()
	return w.Conn.Close()
}
