package redislock_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	wireredis "locklab/internal/wire/redis"
	"locklab/redislock"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// A link is a client whose replies the test can lose.
type link struct {
	*redis.Client
	*wireredis.Counter
	lose  atomic.Int32 // so many replies from now on
	stall atomic.Bool  // replies do not come, until the connection closes
	delay atomic.Int64 // ns: replies come so much later

	dialled atomic.Int64 // connections

	mu    sync.Mutex
	addr  string          // where new connections go, if it is set; "-" for nowhere
	conns map[*lossy]bool // those that are open
}

// redirect cuts all connections and leads new ones to addr.
func (l *link) redirect(addr string) {
	l.mu.Lock()
	l.addr = addr
	l.mu.Unlock()
	l.cut()
}

// cut breaks all connections.
func (l *link) cut() {
	for _, c := range l.open() {
		c.Conn.Close()
	}
}

// open returns the connections that are open.
func (l *link) open() []*lossy {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.conns))
}

func (l *link) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	l.mu.Lock()
	if l.addr != "" {
		addr = l.addr
	}
	l.mu.Unlock()
	if addr == "-" {
		return nil, errors.New("the test has cut this link")
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := &lossy{Conn: conn, link: l}
	l.dialled.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = true
	return c, nil
}

// dial connects a client for the duration of t.
func dial(t testing.TB, at harness.Endpoint, tweak ...func(*redis.Options)) *link {
	t.Helper()
	l := &link{conns: make(map[*lossy]bool)}
	tweak = append(tweak, func(o *redis.Options) {
		o.Dialer = l.connect
	})
	client, counter, err := wireredis.Connect(at, tweak...)
	if err != nil {
		t.Fatal(err)
	}
	l.Client, l.Counter = client, counter
	t.Cleanup(func() { client.Close() })
	// The scripts are known to the server from here on, and a connection is open.
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	return l
}

// lossy is a connection that loses replies: the server has done what it was
// asked, and then the connection breaks or is silent.
type lossy struct {
	net.Conn
	link   *link
	silent atomic.Bool // nothing arrives any more, in either direction
}

// silence makes the connections that are open now silent, as behind a router that has
// forgotten them. Those that come later work.
func (l *link) silence() {
	for _, c := range l.open() {
		c.silent.Store(true)
	}
}

func (c *lossy) Write(p []byte) (int, error) {
	if c.silent.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *lossy) Close() error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	delete(c.link.conns, c)
	return c.Conn.Close()
}

func (c *lossy) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		return n, err
	}
	time.Sleep(time.Duration(c.link.delay.Load()))
	if c.link.stall.Load() || c.silent.Load() {
		for { // until the client's deadline, or Close
			if _, err := c.Conn.Read(p); err != nil {
				return 0, err
			}
		}
	}
	if c.link.lose.Add(-1) >= 0 {
		c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	c.link.lose.Store(0)
	return n, nil
}

// newKey returns the name of a lock that no other test uses.
func newKey() string { return "locklab:{redislock-test-" + rand.Text() + "}" }

// owner returns the value of the key, "" if it is not there.
func owner(t *testing.T, l *link, key string) string {
	t.Helper()
	v, err := l.Get(context.WithoutCancel(t.Context()), key).Result()
	if err != nil && err != redis.Nil {
		t.Fatal(err)
	}
	return v
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

// pollMutex returns a lock of a client for the duration of t, whose leases are
// not renewed.
func pollMutex(t *testing.T, c *link, key string, o redislock.Options) *redislock.PollMutex {
	t.Helper()
	o.DisableRenewal = true
	return newClient(t, c).PollMutex(key, redislock.PollOptions{Options: o})
}

// newClient returns a Client over c for the duration of t.
func newClient(t *testing.T, c *link) *redislock.Client {
	t.Helper()
	client := redislock.NewClient(c.Client, redislock.ClientOptions{})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}
