package redislock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/redislock"
)

func TestQueue(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	runAlone(t, at, []serverTest{
		{"requests at any number of waiters", queueCommands},
		{"cancelled: middle", queueCancelMiddle},
		{"checks of a handover", queueChecks},
		{"late notification to another", queueLateToAnother},
		{"grant to a waiter that has gone", queueGrantToNone},
		{"many that wait", manyWaitersAsk},
	})
	waits := map[string]func(*testing.T){ // they mostly wait for timeouts, far above concurrent load
		"fixed":             func(t *testing.T) { queueFixed(t, at) },
		"place left behind": func(t *testing.T) { queueLeftPlace(t, at) },
	}
	for _, d := range departures {
		waits[d.name] = func(t *testing.T) { d.run(t, at) }
	}
	runConcurrently(t, 4, waits) // the longest waits for a quarter of the total
}

// queueChecks: a check that hands the lock on, or may have, is followed by another.
func queueChecks(t *testing.T, at harness.Endpoint) {
	for _, row := range []struct {
		waiters []string
		lose    int32 // replies
		again   bool
	}{{nil, 0, false}, {[]string{"GHOST:1"}, 0, true}, {[]string{"GHOST:1"}, 1, true}} {
		c, key := dialServer(t, at), newKey()
		requireNoError(t, redislock.LoadQueueScripts(t.Context(), c.client))
		addDeadWaiters(t, c, key, row.waiters...)
		c.lose.Store(row.lose)
		if got := redislock.CheckHandover(newClient(t, c).Mutex(key, redislock.Options{})); got != row.again {
			t.Errorf("%+v: it checks again: %t", row, got)
		}
	}
}

// runConcurrently runs the tests, at most that many at a time.
func runConcurrently(t *testing.T, most int, tests map[string]func(*testing.T)) {
	var all errgroup.Group
	all.SetLimit(most)
	for name, run := range tests {
		all.Go(func() error {
			t.Run(name, run)
			return nil
		})
	}
	_ = all.Wait() // no error: the tests report it
}

// queueCommands: an acquisition costs three requests at any number of processes, with one Mutex
// or one for each acquisition, and two if all waiters are in one process. A long hold, for which
// each waits for longer than a grant, costs a renewal and the check of the handover more.
func queueCommands(t *testing.T, at harness.Endpoint) {
	var gone []*peer
	for _, test := range []struct {
		processes, waiters int // waiters of each process
		fresh              bool
		hold               time.Duration
		times              int64
		most               float64
	}{{8, 1, false, 0, 800, 3.1}, {50, 1, false, 0, 1000, 3.1}, {8, 1, true, 0, 800, 3.1}, {1, 50, false, 0, 1000, 2.1}, {20, 1, false, 30 * time.Millisecond, 60, 5.3}} {
		key, peers := newKey(), make([]*peer, test.processes)
		requireNoError(t, redislock.LoadQueueScripts(t.Context(), dialServer(t, at).client))
		var times atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range peers {
			peers[i] = newPeer(t, at)
			for range test.waiters {
				all.Go(func() { lockUntil(ctx, peers[i], key, test.fresh, test.hold, &times) })
			}
		}
		n := int64(test.processes * test.waiters)
		waitUntil(t, "all have come", func() bool { return times.Load() > 3*n })
		count := func() (sum uint64) {
			for _, p := range peers {
				sum += p.counts()
			}
			return sum
		}
		requests, from := count(), times.Load()
		waitUntil(t, "some acquisitions", func() bool { return times.Load() > from+test.times })
		cost := float64(count()-requests) / float64(times.Load()-from)
		stop()
		all.Wait()
		t.Logf("%+v: %.3f requests an acquisition", test, cost)
		if cost > test.most {
			t.Errorf("%+v: %.2f requests an acquisition", test, cost)
		}
		gone = append(gone, peers...)
	}
	for _, p := range gone {
		waitUntil(t, "nothing is left", func() bool { return redislock.MailOf(p.Client).Boxes == 0 })
		if open := len(p.mail.open()); open > 1 {
			t.Errorf("%d connections listened, want 1", open)
		}
	}
}

// lockUntil locks and unlocks until ctx ends, by a fresh Mutex each time or one for all.
func lockUntil(ctx context.Context, p *peer, key string, fresh bool, hold time.Duration, times *atomic.Int64) {
	m := p.Mutex(key, redislock.Options{})
	for {
		if fresh {
			m = p.Mutex(key, redislock.Options{})
		}
		l, err := m.Lock(ctx)
		if err != nil {
			return
		}
		times.Add(1)
		time.Sleep(hold)
		l.Unlock(ctx)
	}
}

const slack = 400 * time.Millisecond

type peer struct {
	*redislock.Client
	*link
	mail *link
}

func newPeer(t *testing.T, at harness.Endpoint, tweak ...func(*redis.Options)) *peer {
	t.Helper()
	p := &peer{link: dialServer(t, at, tweak...), mail: dialServer(t, at, func(o *redis.Options) { o.PoolSize, o.MaxIdleConns = 1<<10, 1 })}
	p.Client = redislock.NewClient(p.link.client, redislock.ClientOptions{Blocking: p.mail.client})
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

// enqueueWaiter starts a Lock of m and returns when watch sees it in the queue.
func enqueueWaiter(t *testing.T, watch *link, m keyed) *waiter {
	t.Helper()
	before := countWaiting(t, watch, m.Name())
	ctx, cancel := context.WithCancel(t.Context())
	w := &waiter{cancel, make(chan got, 1)}
	go func() {
		l, err := m.Lock(ctx)
		w.got <- got{l, err, time.Now()}
	}()
	waitUntil(t, "the waiter comes", func() bool { return countWaiting(t, watch, m.Name()) > before })
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
	waitUntil(t, "all are in the queue", func() bool { return countWaiting(t, watch, m.Name()) == int64(n) })
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

func countWaiting(t *testing.T, c *link, key string) int64 {
	t.Helper()
	n, err := c.client.ZCard(context.WithoutCancel(t.Context()), key+":~queue").Result()
	requireNoError(t, err)
	return n
}

func addDeadWaiters(t *testing.T, c *link, key string, names ...string) {
	t.Helper()
	for i, name := range names {
		requireNoError(t, c.client.ZAdd(t.Context(), key+":~queue", redis.Z{Score: float64(i + 1), Member: name}).Err())
	}
}

func requireBetween(t *testing.T, what string, took, from, to time.Duration) {
	t.Helper()
	t.Logf("%s: %v", what, took)
	if took < from-5*time.Millisecond || took > to+slack {
		t.Errorf("%s took %v, want %v to %v", what, took, from, to)
	}
}
