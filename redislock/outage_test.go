package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
	"locklab/redislock"
)

// startDurable starts a server that keeps its data, and takes 600 µs to load a key.
func startDurable(t *testing.T) *backend.Server {
	t.Helper()
	s, err := backend.StartRedisOf(t.Context(), backend.RedisOptions{Persistence: backend.Always,
		Args: []string{"--key-load-delay", "600", "--loading-process-events-interval-bytes", "1024"}})
	if errors.Is(err, harness.ErrUnavailable) && !backend.Required(harness.KindRedis) {
		t.Skip(err)
	}
	requireNoError(t, err)
	t.Cleanup(func() { expectNoError(t, s.Stop()) })
	return s
}

type outageCase struct {
	name       string
	begin, end func(ctx context.Context, s *backend.Server, admin *redis.Client) error
}

var outages = []outageCase{
	{"connections are refused",
		func(_ context.Context, s *backend.Server, _ *redis.Client) error { return s.Kill(0) },
		func(ctx context.Context, s *backend.Server, _ *redis.Client) error { return s.Restart(ctx, 0) }},
	{"the server restarts and loads its data",
		func(ctx context.Context, s *backend.Server, admin *redis.Client) error {
			// The server checks its clients once per 1024 commands.
			_, err := admin.Pipelined(ctx, func(p redis.Pipeliner) error {
				for i := range 5000 {
					p.Set(ctx, fmt.Sprint("filler", i), "", 0)
				}
				return nil
			})
			if err == nil {
				err = s.Kill(0)
			}
			go s.Restart(ctx, 0)
			return err
		},
		func(ctx context.Context, _ *backend.Server, admin *redis.Client) error {
			for err := admin.Ping(ctx).Err(); err != nil; err = admin.Ping(ctx).Err() {
				if ctx.Err() != nil {
					return err
				}
			}
			return nil
		}},
	{"a script keeps it busy",
		func(ctx context.Context, _ *backend.Server, admin *redis.Client) error {
			if err := admin.ConfigSet(ctx, "busy-reply-threshold", "10").Err(); err != nil {
				return err
			}
			go admin.Eval(ctx, "while true do end", nil)
			for !redis.HasErrorPrefix(admin.Ping(ctx).Err(), "BUSY") {
				time.Sleep(time.Millisecond)
			}
			return nil
		},
		func(ctx context.Context, _ *backend.Server, admin *redis.Client) error {
			return admin.ScriptKill(ctx).Err()
		}},
	{"it is a replica", replicaOf("yes"), primary},
	{"it is a replica without a primary", replicaOf("no"), primary},
}

func replicaOf(stale string) func(context.Context, *backend.Server, *redis.Client) error {
	return func(ctx context.Context, _ *backend.Server, admin *redis.Client) error {
		return errors.Join(admin.ConfigSet(ctx, "replica-serve-stale-data", stale).Err(), admin.Do(ctx, "REPLICAOF", "127.0.0.1", "1").Err())
	}
}

func primary(ctx context.Context, _ *backend.Server, admin *redis.Client) error {
	return admin.Do(ctx, "REPLICAOF", "NO", "ONE").Err()
}

// TestOutage: after a release while the server is unusable, the waiters keep their places and
// get the lock soon after its return.
func TestOutage(t *testing.T) {
	t.Parallel()
	for _, c := range outages {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, startDurable(t))
		})
	}
}

func (c outageCase) run(t *testing.T, s *backend.Server) {
	leaktest.Own(t)
	t.Cleanup(func() { s.Stop() })
	addr := s.Endpoint().Addrs[0][0]
	const outage, soon = unlockWait + time.Second, 6 * time.Second // of a lease of 30
	at := running{deployment: deployments[0], options: redis.UniversalOptions{Addrs: []string{addr}}}
	admin := redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: 10 * time.Second, MaxRetries: -1})
	defer admin.Close()
	ctx := context.WithoutCancel(t.Context())
	var all []*outageKind
	for _, k := range lockKinds {
		all = append(all, newOutageKind(t, at, admin, k))
	}
	for _, k := range all {
		for range waitersOfOutage {
			select {
			case <-k.queued:
			case <-time.After(100 * time.Millisecond): // a cohort does not report it
			}
		}
	}
	time.Sleep(100 * time.Millisecond) // most often all listen by now
	requireNoError(t, c.begin(ctx, s, admin))
	began := time.Now()
	var work sync.WaitGroup
	for _, k := range all {
		work.Go(func() {
			if err := k.held.Unlock(ctx); err != nil && time.Since(began) < unlockWait-100*time.Millisecond {
				t.Errorf("%s: Unlock gave up after %v: %v", k.name, time.Since(began), err)
			}
		})
	}
	time.Sleep(outage)
	expectNoError(t, c.end(ctx, s, admin))
	over := time.Now()
	work.Wait()
	for _, k := range all {
		for range waitersOfOutage {
			select {
			case err := <-k.served:
				if err != nil {
					t.Errorf("%s: a waiter: %v", k.name, err)
				}
			case <-time.After(time.Until(over.Add(soon))):
				t.Fatalf("%s: a waiter does not have the lock %v after the server is back", k.name, time.Since(over))
			}
		}
	}
	t.Logf("all were served %v after the server was back", time.Since(over).Round(time.Millisecond))
	for _, k := range all {
		eventually(t, "nothing is left of "+k.name, func() bool { return len(leftOf(t, admin, k.lock)) == 0 })
	}
}

const unlockWait = 2 * time.Second

const waitersOfOutage = 3

type outageKind struct {
	name, lock string
	held       *redislock.Lease
	queued     chan struct{} // one for each that waits
	served     chan error    // one for each waiter that has had the lock
}

func newOutageKind(t *testing.T, at running, admin redis.UniversalClient, k lockKind) *outageKind {
	o := &outageKind{name: k.name, lock: newName(), queued: make(chan struct{}, waitersOfOutage), served: make(chan error, waitersOfOutage)}
	o.held = lock(t, k.make(at.client(t), o.lock, redislock.Options{}))
	for i := range waitersOfOutage {
		m := k.make(at.client(t), o.lock, redislock.Options{})
		first := sync.OnceFunc(func() { o.queued <- struct{}{} })
		ctx := redislock.WithTrace(t.Context(), &redislock.Trace{Queued: func(redislock.QueuedInfo) { first() }})
		go func() { o.served <- o.serve(ctx, m) }()
		if k.fenced && i == 0 {
			eventually(t, "the first waits", func() bool { return queueOf(t, admin, o.lock) })
		}
	}
	return o
}

// serve locks and unlocks m. A waiter that is late for its grant asks again.
func (o *outageKind) serve(ctx context.Context, m redislock.Lockable) error {
	for {
		l, err := m.Lock(ctx)
		if err == nil {
			err = l.Unlock(ctx)
		}
		if !errors.Is(err, redislock.ErrLost) {
			return err
		}
	}
}

// TestOutageWithoutEnd: how long a Lock keeps asking, by a virtual clock, and its error.
func TestOutageWithoutEnd(t *testing.T) { synctest.Test(t, outageWithoutEnd) }

func outageWithoutEnd(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1,
		PoolSize: 1000, // after that many failures the pool dials in the background
		Dialer:   func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED },
	})
	defer rdb.Close()
	c := redislock.NewClient(rdb, redislock.ClientOptions{})
	defer c.Close()
	var work sync.WaitGroup
	for _, k := range lockKinds {
		const outage = 300 * time.Millisecond
		m := k.make(c, newName(), redislock.Options{Outage: outage})
		expect := func(what string, lock func() error, least time.Duration, wants ...string) {
			began := time.Now()
			err := lock()
			if took := time.Since(began); err == nil || took < least || took > least+5*slack {
				t.Errorf("%s: %s gave up after %v, want %v: %v", k.name, what, took, least, err)
			}
			for _, want := range wants {
				if text := fmt.Sprint(err); !strings.Contains(text, want) || !strings.HasPrefix(text, "redislock: ") || strings.Contains(text, "\n") {
					t.Errorf("%s: the error of %s is %q, want %s in one line", k.name, what, text, want)
				}
			}
		}
		work.Go(func() {
			expect("Lock", func() error { _, err := m.Lock(t.Context()); return err }, outage, "refused")
			expect("TryLock", func() error { _, err := m.TryLock(t.Context()); return err }, 0, "refused")
			if k.name != "Cohort" { // it asks for all of its waiters
				expect("Lock with a deadline", func() error { return lockFor(t, m, 2*outage) }, 2*outage, "deadline exceeded", "refused")
			}
		})
	}
	work.Wait()
}

func lockFor(t *testing.T, m redislock.Lockable, d time.Duration) error {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	_, err := m.Lock(ctx)
	return err
}
