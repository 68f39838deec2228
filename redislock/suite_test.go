package redislock_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"golang.org/x/sync/errgroup"

	"locklab/harness"
	"locklab/harness/lockbench"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/redislock"
	"locklab/redislock/lab"
)

func TestSuite(t *testing.T) {
	suite := lab.Suite
	if testing.Short() {
		t.Log("make test-all also runs the historical locks, which may fail, and redis-poll with other pauses")
		suite = slices.DeleteFunc(slices.Clone(suite), func(v *harness.Variant) bool { return !v.Status.Competes() || otherPauses(v) })
	}
	locktest.Run(t, suite)
}

// otherPauses reports whether v is redis-poll but for its pauses.
func otherPauses(v *harness.Variant) bool {
	return strings.HasPrefix(v.Name, "redis-poll-") || v.Name == "redis-spin"
}

// parallelTests is the number of parallel tests, whatever the processors: most of the time
// they wait. Tests of the whole process run before them.
const parallelTests = 6

// TestMain silences the client library about the servers that tests kill.
func TestMain(m *testing.M) {
	logging.Disable()
	locktest.Parallel(parallelTests)
	lockbench.Main(leaktest.Process{Tests: m, Packages: []string{"locklab/redislock", "github.com/redis/go-redis/v9"}})
}

func BenchmarkLock(b *testing.B) { lockbench.Run(b, lab.Suite) }

// contenders are clients with one connection each that take a lock in order, without a pause.
type contenders struct {
	links []*link
	locks []*redislock.Mutex
}

func newContenders(t testing.TB, at harness.Endpoint, n int) *contenders {
	t.Helper()
	o := redislock.Options{TTL: time.Minute, HandoffTimeout: 20 * time.Second}
	c, key := new(contenders), newKey()
	for range n {
		l := dialServer(t, at)
		client := redislock.NewClient(l.client, redislock.ClientOptions{})
		t.Cleanup(func() { client.Close() })
		c.links, c.locks = append(c.links, l), append(c.locks, client.Mutex(key, o))
	}
	return c
}

func (c *contenders) acquire(ctx context.Context, each int) error {
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

// BenchmarkAcquisition measures the cost of an acquisition among many clients: requests, time, allocations. make
// profile-redis lists the functions.
func BenchmarkAcquisition(b *testing.B) {
	at := locktest.Endpoint(b, harness.KindRedis)
	for _, n := range []int{8, 50} {
		b.Run(fmt.Sprintf("lock=redis-queue/contenders=%d", n), func(b *testing.B) {
			c := newContenders(b, at, n)
			requireNoError(b, c.acquire(b.Context(), 2))
			each, requests := max(1, b.N/n), c.requests()
			b.ReportAllocs()
			b.ResetTimer()
			requireNoError(b, c.acquire(b.Context(), each))
			b.ReportMetric(float64(c.requests()-requests)/float64(n*each), "reqs/op")
		})
	}
}
