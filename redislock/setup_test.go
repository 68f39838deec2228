package redislock_test

import (
	"context"
	"crypto/rand"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/faultproxy"
	"locklab/internal/wire"
	"locklab/redislock"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

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

// A link is a client whose replies the test can lose.
type link struct {
	*redis.Client
	*wire.Counter
	p     *faultproxy.Proxy // the network in between
	lose  loss              // so many replies from now on, but none of a handshake
	stall stall             // replies do not come, until the connection closes
	delay latency           // ns: replies come so much later
}

// dial connects a client for the duration of t.
func dial(t *testing.T, at harness.Endpoint, tweak ...func(*redis.Options)) *link {
	t.Helper()
	p, at := between(t, at, faultproxy.Options{})
	l := &link{p: p, lose: loss{p}, stall: stall{p}, delay: latency{p}}
	client, counter, err := wire.Redis(at, tweak...)
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

// between puts a proxy in front of a server for the duration of t.
func between(t *testing.T, at harness.Endpoint, o faultproxy.Options) (*faultproxy.Proxy, harness.Endpoint) {
	t.Helper()
	p, err := faultproxy.New(at.Addrs[0][0], faultproxy.Redis, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	at.Addrs = [][]string{{p.Addr()}}
	return p, at
}

type loss struct{ p *faultproxy.Proxy }

func (l loss) Store(times int) {
	l.p.Inject(faultproxy.Fault{Times: times, Match: func(m faultproxy.Message) bool {
		return m.Op != "hello" && m.Op != "client" && m.Op != "auth"
	}})
}

type stall struct{ p *faultproxy.Proxy }

func (s stall) Store(on bool) { s.p.BlackHole(faultproxy.Reply, on) }

type latency struct{ p *faultproxy.Proxy }

func (l latency) Store(ns int64) { l.p.Delay(faultproxy.Reply, time.Duration(ns)) }

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
	o.Fixed = true
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
