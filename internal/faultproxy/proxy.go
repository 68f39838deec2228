package faultproxy

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// Options is how a Proxy begins. The zero value is usable.
type Options struct {
	// Observe is called with every message in both directions, in order, one
	// at a time, before it is passed on. It must not block, and not call the
	// proxy. nil is fine.
	Observe func(Sighting)

	// Edit, if not nil, returns what is passed on in place of a message, or of what
	// came together of a protocol that is not read. It is called as Observe is, which
	// sees the message before.
	Edit func(d Direction, raw []byte) []byte

	// Listen is the host:port at which clients reach the proxy; "" is a free port of
	// 127.0.0.1.
	Listen string

	// Await is for how long the proxy tries to reach a server that refuses
	// connections, before it breaks that of the client. To some clients a
	// connection that breaks says more than one that is refused.
	Await time.Duration
}

// A Proxy stands in front of one server. Its methods may be called by any
// goroutine; what they change holds for open connections too.
type Proxy struct {
	framing func() Framing
	observe func(Sighting)
	edit    func(Direction, []byte) []byte
	await   time.Duration
	listen  net.Listener
	work    sync.WaitGroup

	open context.Context // ends with Close
	shut context.CancelFunc

	mu     sync.Mutex
	to     string
	serial int // connections so far
	links  map[*link]bool
	faults []*Injection
	seen   map[string]int
	refuse bool
	hole   [2]bool          // by Direction
	delay  [2]time.Duration // by Direction
	jitter [2]jitter        // by Direction
}

// New starts a proxy in front of the server at host:port. The caller closes it.
func New(to string, framing func() Framing, o Options) (*Proxy, error) {
	l, err := net.Listen("tcp", cmp.Or(o.Listen, "127.0.0.1:0"))
	if err != nil {
		return nil, fmt.Errorf("faultproxy: %w", err)
	}
	p := &Proxy{to: to, framing: framing, observe: o.Observe, edit: o.Edit, await: o.Await, listen: l,
		links: make(map[*link]bool), seen: make(map[string]int)}
	p.open, p.shut = context.WithCancel(context.Background())
	p.work.Go(p.accept)
	return p, nil
}

// Addr is where clients reach the server through the proxy.
func (p *Proxy) Addr() string { return p.listen.Addr().String() }

// Close breaks every connection and returns when every goroutine of the proxy
// has ended. It is safe to call twice. The error is always nil.
func (p *Proxy) Close() error {
	p.shut()
	p.listen.Close()
	p.Reset()
	p.work.Wait()
	return nil
}

// Reset breaks every connection now: both sides see a reset (RST).
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.links {
		k.end(resetBoth)
	}
}

// HalfClose breaks every connection on the side of its client, which sees a reset. The
// server does not hear of it, nor of anything else: its side is half open until it
// closes it, or Reset or Close does.
func (p *Proxy) HalfClose() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.links {
		k.half = true
		k.client.SetLinger(0)
		k.client.Close()
	}
}

// Refuse breaks new connections at once, or stops doing so.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = on
}

// BlackHole lets the messages of one direction vanish, and the news that a side
// has closed the connection, and with on false no more: then the connections that
// lost one are reset, since what follows a gap means nothing. Faults neither hit
// nor count what vanishes.
func (p *Proxy) BlackHole(d Direction, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hole[d] = on
	for k := range p.links {
		if !on && k.gap[d] && !k.forgotten {
			k.end(resetBoth)
		}
	}
}

// Partition is BlackHole in both directions.
func (p *Proxy) Partition(on bool) {
	p.BlackHole(Request, on)
	p.BlackHole(Reply, on)
}

// Forget makes every connection that is open now silent for ever, in both directions,
// as behind a NAT that has forgotten it: messages vanish, and the news that a side has
// closed it. New ones are served. A silent one ends when both sides have closed it, or by
// Reset or Close. Faults neither hit nor count what vanishes.
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.links {
		k.forgotten = true
	}
}

// Redirect leads new connections to another server, as a name or a virtual address that
// moves after a failover. Open ones stay with the old one, as those of a name do; a
// Reset after it breaks them, as those of an address are. None is made to the old one
// once Redirect has returned.
func (p *Proxy) Redirect(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = to
}

// Delay makes the messages of one direction arrive so much later, those that
// come from now on, in their order. It limits no throughput. See Jitter.
func (p *Proxy) Delay(d Direction, by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay[d] = by
}

// Seen returns how many requests for that operation have come by.
func (p *Proxy) Seen(op string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[op]
}

// Conns returns how many connections are open.
func (p *Proxy) Conns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

func (p *Proxy) accept() {
	for {
		c, err := p.listen.Accept()
		switch {
		case p.open.Err() != nil:
			if err == nil {
				c.Close()
			}
			return
		case err != nil:
			// Too many open files, say: that may pass.
			select {
			case <-time.After(10 * time.Millisecond):
			case <-p.open.Done():
			}
		default:
			p.work.Go(func() { p.serve(c.(*net.TCPConn)) })
		}
	}
}

// target is where new connections go.
func (p *Proxy) target() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.to
}

// dial connects to the server, and says to which.
func (p *Proxy) dial() (server net.Conn, to string, err error) {
	for end := time.Now().Add(p.await); ; {
		to = p.target()
		server, err = new(net.Dialer).DialContext(p.open, "tcp", to)
		if err == nil || p.open.Err() != nil || time.Now().After(end) {
			return server, to, err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-p.open.Done():
		}
	}
}

// serve carries one connection.
func (p *Proxy) serve(client *net.TCPConn) {
	p.mu.Lock()
	refuse := p.refuse
	p.mu.Unlock()
	var server net.Conn
	var to string
	var err error
	if !refuse {
		server, to, err = p.dial()
	}
	if refuse || err != nil {
		client.SetLinger(0)
		client.Close()
		return
	}
	k := &link{p: p, framing: p.framing(), client: client, server: server.(*net.TCPConn),
		lose: make(map[int]*Injection), gone: make(chan struct{})}
	p.mu.Lock()
	p.serial++
	k.number = p.serial
	p.links[k] = true
	for d, j := range p.jitter {
		k.dice[d] = j.dice(k, Direction(d))
	}
	if p.open.Err() != nil || p.refuse || p.to != to { // Close, Refuse and Redirect may have looked before
		k.end(resetBoth)
	}
	p.mu.Unlock()
	k.carry()
	p.mu.Lock()
	delete(p.links, k)
	p.mu.Unlock()
}
