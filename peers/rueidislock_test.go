package peers_test

import (
	"context"
	"crypto/rand"
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
	wireredis "locklab/internal/wire/redis"
)

// TestRueidislockLosesWakeups shows that rueidislock with one key lets a waiter of a free lock
// sleep, and correct locks do not. If it is fixed, change the status and the documentation.
func TestRueidislockLosesWakeups(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
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
			switch asleep, err := oversleep(t.Context(), v, at, see); {
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
				if asleep, err := oversleep(t.Context(), v, at, see); asleep > 0 || err != nil {
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

// oversleep returns how many contending workers wait for a lock that is free for a second.
func oversleep(ctx context.Context, v *harness.Variant, at harness.Endpoint, see *redis.Client) (asleep int, err error) {
	ctx, wake := context.WithCancel(ctx)
	key := "peers-test-" + rand.Text()
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
