package redislock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/redislock"
)

const slack = 400 * time.Millisecond

type peer struct {
	*redislock.Client
	*link
	mail *link
}

func newPeer(t *testing.T, at harness.Endpoint, tweak ...func(*redis.Options)) *peer {
	t.Helper()
	p := &peer{link: dial(t, at, tweak...), mail: dial(t, at, func(o *redis.Options) { o.PoolSize, o.MaxIdleConns = 1<<10, 1 })}
	p.Client = redislock.NewClient(p.link.Client, redislock.ClientOptions{Blocking: p.mail.Client})
	t.Cleanup(func() { p.Client.Close() })
	return p
}

func (p *peer) die() {
	p.link.redirect("-")
	p.mail.redirect("-")
}

func (p *peer) counts() uint64 {
	return p.link.Counts().Add(p.mail.Counts()).Requests
}

type waiter struct {
	cancel context.CancelFunc
	got    chan got
}

type got struct {
	l   *redislock.Lease
	err error
	at  time.Time
}

type keyed interface {
	redislock.Lockable
	Name() string
}

// enqueue starts a Lock of m and returns when watch sees it in the queue.
func enqueue(t *testing.T, watch *link, m keyed) *waiter {
	t.Helper()
	before := waiting(t, watch, m.Name())
	ctx, cancel := context.WithCancel(t.Context())
	w := &waiter{cancel, make(chan got, 1)}
	go func() {
		l, err := m.Lock(ctx)
		w.got <- got{l, err, time.Now()}
	}()
	for end := time.Now().Add(patience); waiting(t, watch, m.Name()) <= before; {
		if time.Now().After(end) {
			t.Fatal("the waiter does not come")
		}
	}
	return w
}

// startWaiters starts n Locks of m, which end with the test, and returns when all are in the queue.
func startWaiters(t *testing.T, watch *link, m keyed, n int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	for range n {
		working.Go(func() { m.Lock(ctx) })
	}
	t.Cleanup(func() { stop(); working.Wait() })
	eventually(t, "all are in the queue", func() bool { return waiting(t, watch, m.Name()) == int64(n) })
}

func (w *waiter) lease(t *testing.T) (*redislock.Lease, time.Time) {
	t.Helper()
	select {
	case g := <-w.got:
		if g.err != nil {
			t.Fatal(g.err)
		}
		return g.l, g.at
	case <-time.After(patience):
		t.Fatal("a waiter is never served")
		return nil, time.Time{}
	}
}

func (w *waiter) withdraw(t *testing.T) {
	t.Helper()
	w.cancel()
	select {
	case g := <-w.got:
		if !errors.Is(g.err, context.Canceled) {
			t.Fatalf("a cancelled Lock = %v, %v", g.l, g.err)
		}
	case <-time.After(patience):
		t.Fatal("a cancelled Lock does not return")
	}
}

func waiting(t *testing.T, c *link, key string) int64 {
	t.Helper()
	n, err := c.ZCard(context.WithoutCancel(t.Context()), key+":~queue").Result()
	requireNoError(t, err)
	return n
}

func ghosts(t *testing.T, c *link, key string, names ...string) {
	t.Helper()
	for i, name := range names {
		requireNoError(t, c.ZAdd(t.Context(), key+":~queue", redis.Z{Score: float64(i + 1), Member: name}).Err())
	}
}

func between(t *testing.T, what string, took, from, to time.Duration) {
	t.Helper()
	t.Logf("%s: %v", what, took)
	if took < from-5*time.Millisecond || took > to+slack {
		t.Errorf("%s took %v, want %v to %v", what, took, from, to)
	}
}
