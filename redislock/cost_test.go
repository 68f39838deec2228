package redislock_test

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/redislock"
	"locklab/redislock/lab"
)

type connect func(context.Context, harness.Endpoint, string) (harness.Remote, error)

// TestCost counts requests and messages per acquisition, uncontended and with eight workers.
func TestCost(t *testing.T) {
	t.Parallel()
	at := locktest.Endpoint(t, harness.KindRedis)
	for _, test := range []struct {
		lock  string
		alone float64 // requests
	}{
		{"redis-redisson12", 6}, // SETNX; GET; MULTI, DEL, PUBLISH, EXEC
		{"redis-fair-redisson", 3},
		{"redis-reentrant", 2},
		{"redis-queue", 2},
	} {
		remote := variant(t, test.lock).Remote
		for _, per := range []int{1, 8} { // workers of a client
			alone, _ := cost(t, at, remote, 1, 1)
			crowd, took := cost(t, at, remote, 8, per)
			t.Logf("%-20s %d workers a client: %4.2f requests alone; %5.2f requests and %5.2f messages of 8, %6.2f ms an acquisition",
				test.lock, per, alone.requests, crowd.requests, crowd.messages, took.Seconds()*1000)
			if alone.requests != test.alone {
				t.Errorf("%s costs %.2f requests alone, want %.0f", test.lock, alone.requests, test.alone)
			}
		}
	}
	listening, _ := cost(t, at, variant(t, "redis-reentrant").Remote, 8, 8)
	for _, pause := range []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond} {
		polling, took := cost(t, at, func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
			return &poller{t: t, c: dial(t, at), pause: pause}, nil
		}, 8, 8)
		t.Logf("polling every %-5v: %5.2f requests, %6.2f ms an acquisition", pause, polling.requests, took.Seconds()*1000)
		if pause == time.Millisecond && polling.requests < listening.requests {
			t.Errorf("polling every %v costs %.2f requests, less than listening: %.2f", pause, polling.requests, listening.requests)
		}
	}
}

func variant(t *testing.T, name string) *harness.Variant {
	t.Helper()
	i := slices.IndexFunc(lab.Suite, func(v *harness.Variant) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("%s is not in Suite", name)
	}
	return lab.Suite[i]
}

type price struct{ requests, messages float64 }

func cost(t *testing.T, at harness.Endpoint, with connect, workers, per int) (price, time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	const times = 5
	clients, sessions := crew(t, ctx, at, with, workers, per)
	round := func(n int) {
		var all sync.WaitGroup
		for _, s := range sessions {
			all.Go(func() {
				for range n {
					l, err := s.Lock(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					if workers > 1 {
						time.Sleep(time.Millisecond)
					}
					expectNoError(t, l.Unlock(ctx))
				}
			})
		}
		all.Wait()
	}
	sum := func() (n harness.Counts) {
		for _, c := range clients {
			n = n.Add(c.(harness.Counter).Counts())
		}
		return n
	}
	round(1) // the server may not have the scripts yet
	before, began := sum(), time.Now()
	round(times)
	took, n := time.Since(began), sum().Sub(before)
	for _, c := range clients {
		expectNoError(t, c.Close())
	}
	all := float64(workers * times)
	return price{float64(n.Requests) / all, float64(n.Notifications) / all}, took / time.Duration(workers*times)
}

// crew connects workers, per of them to a client.
func crew(t *testing.T, ctx context.Context, at harness.Endpoint, with connect, workers, per int) (clients []harness.Remote, sessions []harness.Session) {
	t.Helper()
	key := rand.Text()
	for i := range workers {
		if i%per == 0 {
			c, err := with(ctx, at, key)
			requireNoError(t, err)
			clients = append(clients, c)
		}
		s, err := clients[len(clients)-1].Join(ctx, i)
		requireNoError(t, err)
		sessions = append(sessions, s)
	}
	return clients, sessions
}

type poller struct {
	t     *testing.T
	c     *link
	pause time.Duration

	once   sync.Once
	client *redislock.Client
	lock   *redislock.PollMutex
}

func (p *poller) Join(context.Context, int) (harness.Session, error) {
	p.once.Do(func() {
		p.client = redislock.NewClient(p.c.Client, redislock.ClientOptions{})
		p.lock = p.client.PollMutex(newKey(), redislock.PollOptions{Pause: func(int) time.Duration { return p.pause }})
	})
	return pollSession{p.lock}, nil
}

func (p *poller) Close() error { return p.client.Close() }

func (p *poller) Counts() harness.Counts { return p.c.Counts() }

type pollSession struct{ lock *redislock.PollMutex }

func (s pollSession) Lock(ctx context.Context) (harness.Lease, error) {
	l, err := s.lock.Lock(ctx)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (s pollSession) Close() error { return nil }
