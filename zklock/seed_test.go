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
	leaktest.Own(t)
	c, path := dial(t, at, zklock.ClientOptions{}), newPath()
	const goroutines = 50
	ctx, cancel := context.WithTimeout(t.Context(), patience+2*goroutines**seedHold)
	defer cancel()
	var inside atomic.Int32
	var mu sync.Mutex // guards the rest, in case the lock fails
	var order []int32
	var tokens []uint64
	var ideal time.Duration
	began, before := time.Now(), counts(c)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			l, n, err := c.Mutex(path, zklock.Options{}).LockNumbered(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			expectEqual(t, "holders", inside.Add(1), 1)
			hold := *seedHold + rand.N(*seedHold)
			mu.Lock()
			order, tokens = append(order, n), append(tokens, l.Token())
			ideal += hold
			mu.Unlock()
			time.Sleep(hold)
			inside.Add(-1)
			if err := l.Unlock(ctx); err != nil {
				t.Error(err)
			}
		})
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
	took, cost := time.Since(began), counts(c).Sub(before)
	t.Logf("ideal %v, took %v: %v more for each hand-over; %d requests, %d watch events", ideal.Round(time.Millisecond),
		took.Round(time.Millisecond), ((took - ideal) / goroutines).Round(time.Microsecond), cost.Requests, cost.Notifications)
}
