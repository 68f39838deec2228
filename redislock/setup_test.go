package redislock_test

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
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
	lose  atomic.Int32 // so many replies from now on
	stall atomic.Bool  // replies do not come, until the connection closes
	delay atomic.Int64 // ns: replies come so much later
}

// dial connects a client for the duration of t.
func dial(t *testing.T, at harness.Endpoint, tweak ...func(*redis.Options)) *link {
	t.Helper()
	l := new(link)
	tweak = append(tweak, func(o *redis.Options) {
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &lossy{Conn: c, link: l}, nil
		}
	})
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

// lossy is a connection that loses replies: the server has done what it was
// asked, and then the connection breaks or is silent.
type lossy struct {
	net.Conn
	link *link
}

func (c *lossy) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		return n, err
	}
	time.Sleep(time.Duration(c.link.delay.Load()))
	if c.link.stall.Load() {
		for { // until the client's deadline, or Close
			if _, err := c.Conn.Read(p); err != nil {
				return 0, err
			}
		}
	}
	if c.link.lose.Add(-1) >= 0 {
		c.Conn.Close()
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
