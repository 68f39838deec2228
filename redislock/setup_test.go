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
	"locklab/harness/locktest"
	"locklab/internal/require"
	wireredis "locklab/internal/wire/redis"
	"locklab/redislock"
)

const patience = 20 * time.Second

type link struct {
	client *redis.Client
	*wireredis.Counter
	lose  atomic.Int32 // number of replies to lose from now on
	stall atomic.Bool  // replies are withheld until the connection closes
	delay atomic.Int64 // ns by which replies are delayed

	dialled atomic.Int64 // connections

	mu    sync.Mutex
	addr  string          // address of new connections if set; "-" for no server
	conns map[*lossy]bool // the open ones
}

func (l *link) redirect(addr string) {
	l.mu.Lock()
	l.addr = addr
	l.mu.Unlock()
	l.cut()
}

func (l *link) cut() {
	for _, c := range l.open() {
		c.Conn.Close()
	}
}

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

func dialServer(t testing.TB, at harness.Endpoint, tweak ...func(*redis.Options)) *link {
	t.Helper()
	l := &link{conns: make(map[*lossy]bool)}
	tweak = append(tweak, func(o *redis.Options) {
		o.Dialer = l.connect
	})
	client, counter, err := wireredis.Connect(at, tweak...)
	requireNoError(t, err)
	l.client, l.Counter = client, counter
	t.Cleanup(func() { client.Close() })
	// Now the server has the scripts, and a connection is open.
	requireNoError(t, client.Ping(t.Context()).Err())
	return l
}

// lossy loses replies: after the request the connection breaks or is silent.
type lossy struct {
	net.Conn
	link   *link
	silent atomic.Bool // nothing arrives any more, in either direction
}

// silence makes the open connections silent, as behind a router without their state.
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

func newKey() string { return "locklab:{redislock-test-" + rand.Text() + "}" }

func ownerOf(t *testing.T, l *link, key string) string {
	t.Helper()
	v, err := l.client.Get(context.WithoutCancel(t.Context()), key).Result()
	if err != nil && err != redis.Nil {
		t.Fatal(err)
	}
	return v
}

func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func pollMutex(t *testing.T, c *link, key string, o redislock.Options) *redislock.PollMutex {
	t.Helper()
	o.DisableRenewal = true
	return newClient(t, c).PollMutex(key, redislock.PollOptions{Options: o})
}

func newClient(t *testing.T, c *link) *redislock.Client {
	t.Helper()
	client := redislock.NewClient(c.client, redislock.ClientOptions{})
	t.Cleanup(func() { expectNoError(t, client.Close()) })
	return client
}

var requireNoError = require.NoError

func expectNoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func requireDone(t *testing.T, l *redislock.Lease) {
	t.Helper()
	select {
	case <-l.Done():
	case <-time.After(patience):
		t.Fatal("Done stays open")
	}
}

func runParallel(t *testing.T) harness.Endpoint {
	t.Helper()
	t.Parallel()
	return locktest.Endpoint(t, harness.KindRedis)
}

type serverTest struct {
	name string
	run  func(*testing.T, harness.Endpoint)
}

func runOnServer(t *testing.T, tests []serverTest) {
	t.Parallel()
	runAlone(t, locktest.Endpoint(t, harness.KindRedis), tests)
}

func runAlone(t *testing.T, at harness.Endpoint, tests []serverTest) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, at) })
	}
}

// requireRequests checks the requests of an uncontended acquisition of m, which c sends.
func requireRequests(t *testing.T, c *link, m redislock.Lockable, want uint64) {
	t.Helper()
	const times = 20
	unlockLease(t, lockNow(t, m)) // the server may not have the scripts yet
	before := c.Counts()
	for range times {
		unlockLease(t, lockNow(t, m))
	}
	if got := c.Counts().Sub(before); got != (harness.Counts{Requests: times * want}) {
		t.Errorf("%T: %d acquisitions cost %+v, want %d requests each", m, times, got, want)
	}
}

type hook = redislock.Hook

// passThrough is a redis.Hook without effect, to embed in others.
type passThrough struct{ redis.Hook }

func (passThrough) DialHook(next redis.DialHook) redis.DialHook { return next }

func (passThrough) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
