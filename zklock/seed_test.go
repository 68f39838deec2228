package zklock_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/internal/leaktest"
	"locklab/zklock"
)

// seedHold scales TestSeed50: holds last one to two of it, 100ms in source article 004.
var seedHold = flag.Duration("seed-hold", 2*time.Millisecond, "least time that a holder of TestSeed50 stays")

// TestSeed50 is the test of source article 004, with assertions: 50 goroutines on one session
// take the lock once each and hold it for 100 to 200 ms. No two hold it at once, all get it in
// the order in which they queued, and the total time beyond the holds is reported.
//
//	go test ./zklock -run TestSeed50 -v -seed-hold 100ms
func TestSeed50(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *zklock.Client) (take func(ctx context.Context, i int) (*zklock.Lease, int32, error), arrive func(i int))
	}{
		{"one object each", eachItsOwn},
		{"one two-level object", func(t *testing.T, c *zklock.Client) (func(context.Context, int) (*zklock.Lease, int32, error), func(int)) {
			return oneForAll(t, c, -1)
		}},
		{"one cohort", func(t *testing.T, c *zklock.Client) (func(context.Context, int) (*zklock.Lease, int32, error), func(int)) {
			return oneForAll(t, c, 0)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaktest.Own(t)
			c := dial(t, at, zklock.ClientOptions{})
			take, arrive := test.run(t, c)
			seed50(t, c, take, arrive)
		})
	}
}

func eachItsOwn(t *testing.T, c *zklock.Client) (func(context.Context, int) (*zklock.Lease, int32, error), func(int)) {
	path := newPath()
	return func(ctx context.Context, _ int) (*zklock.Lease, int32, error) {
		return c.Mutex(path, zklock.Options{}).LockNumbered(ctx)
	}, func(int) {}
}

// oneForAll queues in memory; i is the order of arrival.
func oneForAll(t *testing.T, c *zklock.Client, handovers int) (func(context.Context, int) (*zklock.Lease, int32, error), func(int)) {
	k := c.Cohort(newPath(), zklock.CohortOptions{Handovers: handovers})
	first := make(chan struct{})
	return func(ctx context.Context, i int) (*zklock.Lease, int32, error) {
			l, err := k.Lock(ctx)
			if i == 0 {
				<-first // keeps the lock until all wait
			}
			return l, int32(i), err
		}, func(i int) {
			if i == 0 {
				eventually(t, "the first is served", func() bool { return k.Busy() && k.Line() == 0 })
				return
			}
			eventually(t, "the line grows", func() bool { return k.Line() == i })
			if i == 49 {
				close(first)
			}
		}
}

func seed50(t *testing.T, c *zklock.Client, take func(context.Context, int) (*zklock.Lease, int32, error), arrive func(int)) {
	const goroutines = 50
	ctx, cancel := context.WithTimeout(t.Context(), patience+2*goroutines**seedHold)
	defer cancel()
	var inside atomic.Int32
	var mu sync.Mutex // guards the rest, in case the lock fails
	var order []int32
	var tokens []uint64
	var ideal time.Duration
	var entered, left time.Time
	before := counts(c)
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			l, n, err := take(ctx, i)
			if err != nil {
				t.Error(err)
				return
			}
			if k := inside.Add(1); k != 1 {
				t.Errorf("%d are inside", k)
			}
			hold := *seedHold + rand.N(*seedHold)
			mu.Lock()
			order, tokens = append(order, n), append(tokens, l.Token())
			ideal += hold
			if entered.IsZero() {
				entered = time.Now()
			}
			mu.Unlock()
			time.Sleep(hold)
			inside.Add(-1)
			if err := l.Unlock(ctx); err != nil {
				t.Error(err)
			}
			mu.Lock()
			left = time.Now()
			mu.Unlock()
		})
		arrive(i)
	}
	wg.Wait()
	if len(order) != goroutines {
		t.Fatalf("%d of %d goroutines had the lock", len(order), goroutines)
	}
	for i := 1; i < len(order); i++ {
		if order[i] <= order[i-1] || tokens[i] <= tokens[i-1] {
			t.Errorf("in place %d came number %d after %d, with token %d after %d", i, order[i], order[i-1], tokens[i], tokens[i-1])
		}
	}
	took, cost := left.Sub(entered), counts(c).Sub(before)
	t.Logf("ideal %v, took %v: %v more for each hand-over; %d requests, %d watch events", ideal.Round(time.Millisecond),
		took.Round(time.Millisecond), ((took - ideal) / goroutines).Round(time.Microsecond), cost.Requests, cost.Notifications)
}
