package peers_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/faultproxy"
	wireredis "locklab/internal/wire/redis"
)

// TestRueidislockLosesWakeups shows that rueidislock with one key lets a waiter of a free lock
// sleep, and correct locks do not. If it is fixed, change the status and the documentation.
func TestRueidislockLosesWakeups(t *testing.T) {
	needTime(t)
	if raceEnabled {
		t.Skip("it is about a fault of another's lock and how seldom it shows; it runs without -race")
	}
	at := locktest.Endpoint(t, harness.KindRedis)
	see, _, err := wireredis.Connect(at)
	requireNoError(t, err)
	defer see.Close()
	t.Run("rueidislock", func(t *testing.T) {
		defer shareProcessors()()
		v := variant("rueidislock")
		const trials = 200 // on two processors 1 to 15 were enough
		for trial := range trials {
			switch asleep, err := countSleepers(t.Context(), v, at, see); {
			case err != nil:
				t.Fatal(err)
			case asleep > 0:
				t.Logf("trial %d: %d of %d waiters sleep although the lock is free", trial+1, asleep, oversleepers)
				return
			}
		}
		t.Errorf("no waiter has overslept in %d trials: the peer has been cured", trials)
	})
	for _, v := range []*harness.Variant{variant("rueidislock-majority"), variant("rueidislock-poll"), variant("redis-queue")} {
		t.Run(v.Name, func(t *testing.T) {
			for range 2 {
				if asleep, err := countSleepers(t.Context(), v, at, see); asleep > 0 || err != nil {
					t.Errorf("%d waiters sleep although the lock is free; %v", asleep, err)
				}
			}
		})
	}
}

// shareProcessors makes threads share the processors, which interrupts goroutines anywhere.
func shareProcessors() (stop func()) {
	n := runtime.NumCPU()
	before := runtime.GOMAXPROCS(4 * n)
	var quit atomic.Bool
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for !quit.Load() {
			}
		})
	}
	return func() {
		quit.Store(true)
		wg.Wait()
		runtime.GOMAXPROCS(before)
	}
}

const oversleepers = 8

// countSleepers returns how many contending workers wait for a lock that is free for a second.
func countSleepers(ctx context.Context, v *harness.Variant, at harness.Endpoint, see *redis.Client) (asleep int, err error) {
	ctx, wake := context.WithCancel(ctx)
	key := newKey()
	var clients []harness.Remote
	var wg sync.WaitGroup
	defer func() {
		wake()
		wg.Wait()
		for _, c := range clients {
			err = errors.Join(err, c.Close())
		}
	}()
	var granted, left atomic.Int64
	left.Store(oversleepers)
	failed := make(chan error, oversleepers)
	for i := range oversleepers {
		c, err := v.Remote(ctx, at, key)
		if err != nil {
			return 0, err
		}
		clients = append(clients, c)
		session, err := c.Join(ctx, i)
		if err != nil {
			return 0, err
		}
		wg.Go(func() {
			defer left.Add(-1)
			if err := takeTurns(ctx, session, &granted); err != nil {
				failed <- err
			}
		})
	}
	for last, looks := int64(-1), 0; left.Load() > 0; time.Sleep(50 * time.Millisecond) {
		select {
		case err := <-failed:
			return 0, err
		default:
		}
		held, err := see.Exists(ctx, "locklab:"+key, "locklab:{"+key+"}", "locklab:0:"+key, "locklab:1:"+key, "locklab:2:"+key).Result()
		if err != nil {
			return 0, fmt.Errorf("look at the lock: %w", err)
		}
		if now := granted.Load(); held > 0 || now != last {
			last, looks = now, 0
		} else if looks++; looks == 20 {
			return int(left.Load()), nil
		}
	}
	return 0, nil
}

func takeTurns(ctx context.Context, session harness.Session, granted *atomic.Int64) error {
	for range 200 {
		lease, err := session.Lock(ctx)
		if err != nil {
			return err
		}
		granted.Add(1)
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}

// TestRueidislockSlowServer: TryLock returns a result, however late the server answers.
func TestRueidislockSlowServer(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	for _, name := range []string{"rueidislock", "rueidislock-majority", "rueidislock-poll"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits most of the time
			p, err := faultproxy.New(at.Addrs[0][0], faultproxy.Redis, faultproxy.Options{})
			requireNoError(t, err)
			t.Cleanup(func() { p.Close() })
			key, v := newKey(), variant(name)
			_, holds := joinAt(t, v, at, key)
			slow := at
			slow.Addrs = [][]string{{p.Addr()}}
			_, tries := joinAt(t, v, slow, key)
			if lease, err := tryLate(t, p, tries); err != nil {
				t.Errorf("TryLock of a free lock = %v", err)
			} else if err := lease.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
			lease := mustLock(t, holds)
			if _, err := tryLate(t, p, tries); !errors.Is(err, harness.ErrNotAcquired) {
				t.Errorf("TryLock of a held lock = %v, want ErrNotAcquired", err)
			}
			requireNoError(t, lease.Unlock(t.Context()))
			takeTurn(t, tries)
		})
	}
}

func tryLate(t *testing.T, p *faultproxy.Proxy, s harness.Session) (harness.Lease, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	p.Delay(faultproxy.Reply, 100*time.Millisecond)
	defer time.AfterFunc(500*time.Millisecond, func() { p.Delay(faultproxy.Reply, 0) }).Stop()
	defer p.Delay(faultproxy.Reply, 0)
	return s.(harness.TrySession).TryLock(ctx)
}

func joinAt(t *testing.T, v *harness.Variant, at harness.Endpoint, key string) (harness.Remote, harness.Session) {
	t.Helper()
	r, err := v.Remote(t.Context(), at, key)
	requireNoError(t, err)
	t.Cleanup(func() { r.Close() })
	s, err := r.Join(t.Context(), 0)
	requireNoError(t, err)
	t.Cleanup(func() { s.Close() })
	return r, s
}
