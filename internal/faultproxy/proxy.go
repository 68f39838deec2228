package faultproxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Options configures a Proxy. The zero value is usable.
type Options struct {
	// Observe is called with every message in both directions, in order, one at a time,
	// before it is passed on. It must not block, and not call the proxy. It may be nil.
	Observe func(Sighting)

	// Edit, if not nil, returns the replacement for a message, or for data received together
	// if the protocol is unread. It is called like Observe, which sees the original.
	Edit func(d Direction, raw []byte) []byte

	// Listen is the host:port for clients; "" is a free port of 127.0.0.1.
	Listen string

	// Await is how long the proxy tries to reach a server that refuses connections, before it
	// breaks the client's, which some clients handle differently.
	Await time.Duration
}

// A Proxy stands in front of one server. Any goroutine may call its methods.
// mu guards the last fields, which a fault changes together.
type Proxy struct {
	framing func() Framing
	observe func(Sighting)
	edit    func(Direction, []byte) []byte
	await   time.Duration
	listen  net.Listener
	work    sync.WaitGroup

	open context.Context
	shut context.CancelFunc

	mu     sync.Mutex
	to     string
	serial int // number of the latest connection
	links  map[*link]bool
	faults []*Injection
	seen   map[string]int
	refuse bool
	hole   [2]bool          // by Direction
	delay  [2]time.Duration // by Direction
	jitter [2]time.Duration // by Direction
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

// Addr returns the address of the proxy for clients.
func (p *Proxy) Addr() string { return p.listen.Addr().String() }

// Close breaks every connection and waits for every goroutine of the proxy. Its error is nil.
func (p *Proxy) Close() error {
	p.shut()
	p.listen.Close()
	p.Reset()
	p.work.Wait()
	return nil
}

// Reset breaks every connection now: both sides see a reset (RST).
func (p *Proxy) Reset() {
	p.each(func(k *link) { k.end(k.client, k.server) })
}

func (p *Proxy) each(do func(k *link)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.links {
		do(k)
	}
}

// HalfClose breaks every connection on the client's side, where it causes a reset. The server
// does not notice: its side is half open until it closes it, or Reset or Close does.
func (p *Proxy) HalfClose() {
	p.each(func(k *link) {
		k.forgotten = true
		k.client.SetLinger(0)
		k.client.Close()
	})
}

// Refuse breaks new connections at once, or stops doing so.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = on
}

// BlackHole drops the messages of one direction, unseen by faults, and the closing of
// connections. When turned off, it resets the connections that lost data: a stream has no gaps.
func (p *Proxy) BlackHole(d Direction, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hole[d] = on
	for k := range p.links {
		if !on && k.gap[d] && !k.forgotten {
			k.end(k.client, k.server)
		}
	}
}

func (p *Proxy) Partition(on bool) {
	p.BlackHole(Request, on)
	p.BlackHole(Reply, on)
}

// Forget makes every open connection silent for ever, in both directions, as behind a NAT that
// has forgotten it; faults see none of its messages. New connections work. A silent connection
// ends when both sides have closed it, or by Reset or Close.
func (p *Proxy) Forget() {
	p.each(func(k *link) { k.forgotten = true })
}

// Redirect leads new connections to another server, like a name that moves after a failover.
// Open connections stay with the old one; a Reset breaks them, as with a virtual address.
// After Redirect has returned no new connection reaches the old server.
func (p *Proxy) Redirect(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = to
}

// Delay delays the new messages of one direction, in order. A connection that sends more than
// inFlight meanwhile is delayed longer. See Jitter.
func (p *Proxy) Delay(d Direction, by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay[d] = by
}

// Jitter delays each new message of one direction by a random time below most, in addition to
// Delay. Messages keep their order, so a late one delays its successors. 0 disables it.
func (p *Proxy) Jitter(d Direction, most time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jitter[d] = most
}

// Seen returns the number of requests with that operation so far.
func (p *Proxy) Seen(op string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[op]
}

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
			sleep(10*time.Millisecond, p.open.Done()) // for example too many open files, which may be temporary
		default:
			p.work.Go(func() { p.serve(c.(*net.TCPConn)) })
		}
	}
}

var errRefused = errors.New("faultproxy: connections are refused")

func (p *Proxy) dial() (server net.Conn, to string, err error) {
	for end := time.Now().Add(p.await); ; {
		p.mu.Lock()
		to = p.to
		refuse := p.refuse
		p.mu.Unlock()
		if refuse {
			return nil, to, errRefused
		}
		server, err = new(net.Dialer).DialContext(p.open, "tcp", to)
		if err == nil || p.open.Err() != nil || time.Now().After(end) {
			return server, to, err
		}
		sleep(10*time.Millisecond, p.open.Done())
	}
}

func (p *Proxy) serve(client *net.TCPConn) {
	server, to, err := p.dial()
	if err != nil {
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
	if p.open.Err() != nil || p.refuse || p.to != to { // Close, Refuse and Redirect may have run before k was registered
		k.end(k.client, k.server)
	}
	p.mu.Unlock()
	k.carry()
	p.mu.Lock()
	delete(p.links, k)
	p.mu.Unlock()
}
