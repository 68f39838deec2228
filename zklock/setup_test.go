package zklock_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/wire"
	"locklab/zklock"
)

// patience is how long a test waits for what must happen; aWhile is how long
// it waits to see that something does not.
const (
	patience = 30 * time.Second
	aWhile   = 200 * time.Millisecond
)

// noLeaks fails t if goroutines are left when it ends.
func noLeaks(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				buf := make([]byte, 1<<20)
				t.Errorf("%d goroutines more than before:\n%s", runtime.NumGoroutine()-before, buf[:runtime.Stack(buf, true)])
				return
			}
		}
	})
}

// dial connects a client for the duration of t.
func dial(t *testing.T, at harness.Endpoint, o zklock.ClientOptions) *zklock.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := zklock.Dial(ctx, at.Addrs[0], o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// raw connects a plain client for the duration of t.
func raw(t *testing.T, at harness.Endpoint) *wire.ZooKeeperConn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := wire.ZooKeeper(ctx, at, wire.ZooKeeperOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// root is above every lock of this run.
var root = "/locklab/zklock-test-" + rand.Text()

// user and password own some of the nodes.
const user, password = "locklab", "secret"

// newPath returns the path of a lock that no other test uses.
func newPath() string { return root + "/" + rand.Text() }

// sweep removes the nodes that this run has left.
func sweep(t *testing.T, at harness.Endpoint) {
	t.Helper()
	if at.Username == "" {
		at.Username, at.Password = user, password // some are theirs
	}
	c := raw(t, at)
	var remove func(path string)
	remove = func(path string) {
		for _, name := range queue(t, c, path) {
			remove(path + "/" + name)
		}
		if err := c.Delete(path, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("sweep %s: %v", path, err)
		}
	}
	remove(root)
}

// queue returns the names of the nodes below path, in order.
func queue(t *testing.T, c *wire.ZooKeeperConn, path string) []string {
	t.Helper()
	names, _, err := c.Children(path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	slices.SortFunc(names, func(a, b string) int {
		if len(a) < 10 || len(b) < 10 {
			return len(a) - len(b)
		}
		return slices.Compare([]byte(a[len(a)-10:]), []byte(b[len(b)-10:]))
	})
	return names
}

// queued waits until the lock at path has n tickets.
func queued(t *testing.T, c *wire.ZooKeeperConn, path string, n int) []string {
	t.Helper()
	var names []string
	eventually(t, "the queue has the right length", func() bool {
		names = queue(t, c, path)
		return len(names) == n
	})
	return names
}

// eventually waits until ok holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func lock(t *testing.T, m *zklock.Mutex) *zklock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := m.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func unlock(t *testing.T, l *zklock.Lease) {
	t.Helper()
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A result is what a Lock in the background returned.
type result struct {
	l   *zklock.Lease
	err error
}

// waiting starts a Lock in the background and waits until it is in the queue,
// which then has n tickets, and most likely also watches it.
func waiting(t *testing.T, ctx context.Context, m *zklock.Mutex, see *wire.ZooKeeperConn, n int) <-chan result {
	t.Helper()
	got := make(chan result, 1)
	go func() {
		l, err := m.Lock(ctx)
		got <- result{l, err}
	}()
	queued(t, see, m.Path(), n)
	time.Sleep(aWhile / 4)
	return got
}

// take returns what a Lock in the background got.
func take(t *testing.T, got <-chan result) *zklock.Lease {
	t.Helper()
	select {
	case r := <-got:
		if r.err != nil {
			t.Fatal(r.err)
		}
		return r.l
	case <-time.After(patience):
		t.Fatal("the waiter does not get the lock")
		return nil
	}
}

// empty expects a Lock in the background not to have returned.
func empty(t *testing.T, got <-chan result) {
	t.Helper()
	select {
	case r := <-got:
		t.Fatalf("the waiter returned %v, %v", r.l, r.err)
	case <-time.After(aWhile):
	}
}

// lost expects a lease that has ended, and an Unlock that says so.
func lost(t *testing.T, l *zklock.Lease) {
	t.Helper()
	if err := l.Unlock(t.Context()); !errors.Is(err, zklock.ErrNotHeld) || !errors.Is(err, harness.ErrNotHeld) {
		t.Errorf("Unlock = %v, want ErrNotHeld", err)
	}
	select {
	case <-l.Done():
	default:
		t.Error("Done is open")
	}
	if err := l.Err(); !errors.Is(err, zklock.ErrLost) || !errors.Is(err, harness.ErrLost) {
		t.Errorf("Err = %v, want ErrLost", err)
	}
	if until, ok := l.Deadline(); !ok || until.After(time.Now()) {
		t.Errorf("Deadline of a lost lease = %v, %t", until, ok)
	}
}

// A proxy is the network between a client and a server.
type proxy struct {
	at harness.Endpoint // the server, through the proxy
	to string

	swallow atomic.Bool  // lose the next reply and break the connection
	skip    atomic.Int64 // but first let so many through
	silent  atomic.Bool  // let nothing through in either direction
	refuse  atomic.Bool  // break new connections at once
	delay   atomic.Int64 // ns: replies come so much later

	mu    sync.Mutex
	conns map[net.Conn]bool
	ops   map[uint32]int // requests by operation code
}

// newProxy stands in front of a server for the duration of t.
func newProxy(t *testing.T, at harness.Endpoint) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{at: at, to: at.Addrs[0][0], conns: make(map[net.Conn]bool), ops: make(map[uint32]int)}
	p.at.Addrs = [][]string{{l.Addr().String()}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() { l.Close(); p.cut(); wg.Wait() })
	return p
}

// serve carries one connection.
func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	if p.refuse.Load() {
		return
	}
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() { p.carry(server, client, false) })
	wg.Go(func() { p.carry(client, server, true) })
	wg.Wait()
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.conns, server)
	p.mu.Unlock()
}

// carry moves bytes until a connection breaks, and then breaks the other.
func (p *proxy) carry(to, from net.Conn, reply bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := from.Read(buf)
		if err != nil || reply && p.swallow.Load() && p.skip.Add(-1) < 0 && p.swallow.Swap(false) {
			return
		}
		if !reply && n >= 12 { // length, xid, operation; one request at a time
			p.mu.Lock()
			p.ops[binary.BigEndian.Uint32(buf[8:])]++
			p.mu.Unlock()
		}
		if p.silent.Load() {
			continue
		}
		if reply {
			time.Sleep(time.Duration(p.delay.Load()))
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// asked returns how many requests with that operation code have come by.
func (p *proxy) asked(op uint32) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ops[op]
}

// cut breaks every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}
