package lab

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	wireredis "locklab/internal/wire/redis"
	"locklab/redislock"
)

const (
	patience = 20 * time.Second

	long = 30 * time.Second
)

type link struct {
	*redis.Client
	*wireredis.Counter
	lose  atomic.Int32 // number of replies to lose from now on
	delay atomic.Int64 // ns by which replies are delayed
}

func newLink(t *testing.T, at harness.Endpoint, tweak ...func(*redis.Options)) *link {
	t.Helper()
	l := new(link)
	tweak = append(tweak, func(o *redis.Options) {
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return &lossy{conn, l}, err
		}
	})
	client, counter, err := wireredis.Connect(at, tweak...)
	if err != nil {
		t.Fatal(err)
	}
	l.Client, l.Counter = client, counter
	t.Cleanup(func() { client.Close() })
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	return l
}

// lossy is a connection that loses replies: after the request it breaks.
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
	if c.link.lose.Add(-1) >= 0 {
		c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	c.link.lose.Store(0)
	return n, nil
}

func newPlain(t *testing.T, l *link) *process {
	t.Helper()
	p := newProcess(l.Client)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func newClient(t *testing.T, l *link) *redislock.Client {
	t.Helper()
	c := redislock.NewClient(l.Client, redislock.ClientOptions{})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func acquire[L harness.Lease](t *testing.T, m interface {
	Lock(context.Context) (L, error)
}) L {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := m.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func unlock(t *testing.T, l harness.Lease) {
	t.Helper()
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func variant(t *testing.T, name string) *harness.Variant {
	t.Helper()
	i := slices.IndexFunc(Suite, func(v *harness.Variant) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("%s is not in Suite", name)
	}
	return Suite[i]
}

type scene struct {
	t     *testing.T
	at    harness.Endpoint
	key   string
	watch *link
}

func newScene(t *testing.T, at harness.Endpoint) *scene {
	s := &scene{t, at, "locklab:{lab-test-" + rand.Text() + "}", newLink(t, at)}
	t.Cleanup(func() { s.watch.Del(context.WithoutCancel(t.Context()), s.key) })
	return s
}

func (s *scene) process12() *lock12 { return newLock12(newPlain(s.t, newLink(s.t, s.at)), s.key, 0) }

// hold waits for the lock without a lease.
func (t *thread12) hold(ctx context.Context) error {
	_, err := t.lock(ctx, forever, 0)
	return err
}

func (s *scene) process(o redislock.Options) (*redislock.Reentrant, *link) {
	c := newLink(s.t, s.at)
	return newClient(s.t, c).Reentrant(s.key, o), c
}

func (s *scene) expire() {
	s.watch.PExpire(s.t.Context(), s.key, time.Millisecond)
	eventually(s.t, "the lease is over", func() bool { return s.watch.Exists(s.t.Context(), s.key).Val() == 0 })
}

func (s *scene) exists() bool { return s.watch.Exists(s.t.Context(), s.key).Val() == 1 }

func (s *scene) ttl() time.Duration { return s.watch.PTTL(s.t.Context(), s.key).Val() }

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// onlyField returns the owner of the lock, which must have that count.
func (s *scene) onlyField(count string) string {
	s.t.Helper()
	all, err := s.watch.HGetAll(context.WithoutCancel(s.t.Context()), s.key).Result()
	if err != nil || len(all) != 1 {
		s.t.Fatalf("%s = %v, %v; want one owner", s.key, all, err)
	}
	for field, n := range all {
		if n != count {
			s.t.Errorf("the owner holds the lock %s times, want %s", n, count)
		}
		return field
	}
	return ""
}

func (s *scene) take(try func(context.Context, time.Duration) (bool, time.Duration, error)) {
	s.t.Helper()
	if ok, _, err := try(s.t.Context(), long); !ok || err != nil {
		s.t.Fatalf("try of a free lock = %t, %v", ok, err)
	}
}

func once(step string, nth int, f func()) func(string) {
	return func(s string) {
		if s == step {
			if nth--; nth == 0 {
				f()
			}
		}
	}
}
