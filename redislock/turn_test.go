package redislock_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
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

// BenchmarkTurn measures the cost of a turn among many clients: requests, bytes, processor
// time of the server and of this process, allocations. make profile-redis lists the functions.
func BenchmarkTurn(b *testing.B) {
	at := locktest.Endpoint(b, harness.KindRedis)
	for _, n := range []int{8, 50} {
		b.Run(fmt.Sprintf("lock=redis-queue/contenders=%d", n), func(b *testing.B) {
			c := newContenders(b, at, n)
			watch := dial(b, at)
			if err := c.turns(b.Context(), 2); err != nil {
				b.Fatal(err)
			}
			each := max(1, b.N/n)
			before, requests, client := readServer(b, watch), c.requests(), processorTime()
			b.ReportAllocs()
			b.ResetTimer()
			if err := c.turns(b.Context(), each); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			after, all := readServer(b, watch), float64(n*each)
			b.ReportMetric(float64(c.requests()-requests)/all, "reqs/op")
			b.ReportMetric((after.in-before.in)/all, "in-B/op")
			b.ReportMetric((after.out-before.out)/all, "out-B/op")
			b.ReportMetric((after.cpu-before.cpu)*1e9/all, "server-cpu-ns/op")
			b.ReportMetric(float64(processorTime()-client)/all, "client-cpu-ns/op")
		})
	}
}

type serverReading struct{ in, out, cpu float64 }

func readServer(b *testing.B, l *link) (r serverReading) {
	b.Helper()
	for _, section := range []string{"stats", "cpu"} { // one at a time: Redis before 7 accepts only one
		text, err := l.Info(b.Context(), section).Result()
		if err != nil {
			b.Fatal(err)
		}
		for line := range strings.Lines(text) {
			var user, system float64
			fmt.Sscanf(line, "total_net_input_bytes:%g", &r.in)
			fmt.Sscanf(line, "total_net_output_bytes:%g", &r.out)
			fmt.Sscanf(line, "used_cpu_user:%g", &user)
			fmt.Sscanf(line, "used_cpu_sys:%g", &system)
			r.cpu += user + system
		}
	}
	return r
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
