package redislock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/redislock"

	"golang.org/x/sync/errgroup"
)

// contenders are clients with one connection each that take a lock in turns, without a pause.
type contenders struct {
	links []*link
	locks []*redislock.Mutex
}

func newContenders(t testing.TB, at harness.Endpoint, n int) *contenders {
	t.Helper()
	o := redislock.Options{TTL: time.Minute, HandoffTimeout: 20 * time.Second}
	c, key := new(contenders), newKey()
	for range n {
		l := dial(t, at)
		client := redislock.NewClient(l.Client, redislock.ClientOptions{})
		t.Cleanup(func() { client.Close() })
		c.links, c.locks = append(c.links, l), append(c.locks, client.Mutex(key, o))
	}
	return c
}

func (c *contenders) turns(ctx context.Context, each int) error {
	var all errgroup.Group
	for _, m := range c.locks {
		all.Go(func() error {
			for range each {
				l, err := m.Lock(ctx)
				if err == nil {
					err = l.Unlock(ctx)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all.Wait()
}

func (c *contenders) requests() (n uint64) {
	for _, l := range c.links {
		n += l.Counts().Requests
	}
	return n
}

// BenchmarkTurn measures the cost of a turn among many clients: requests, time, allocations. make
// profile-redis lists the functions.
func BenchmarkTurn(b *testing.B) {
	at := locktest.Endpoint(b, harness.KindRedis)
	for _, n := range []int{8, 50} {
		b.Run(fmt.Sprintf("lock=redis-queue/contenders=%d", n), func(b *testing.B) {
			c := newContenders(b, at, n)
			requireNoError(b, c.turns(b.Context(), 2))
			each, requests := max(1, b.N/n), c.requests()
			b.ReportAllocs()
			b.ResetTimer()
			requireNoError(b, c.turns(b.Context(), each))
			b.ReportMetric(float64(c.requests()-requests)/float64(n*each), "reqs/op")
		})
	}
}
