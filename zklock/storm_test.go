package zklock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
	"locklab/zklock"
)

// cohortStorm: clients of every kind give up, try, and lose their connection at random. No two
// hold the lock at once, tokens rise, and nothing is left.
func cohortStorm(t *testing.T, at harness.Endpoint) {
	p, see, path := newProxy(t, at), raw(t, at), newPath()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	calm := time.Now().Add(1500 * time.Millisecond)
	var inside atomic.Int32
	var last uint64 // guarded by the lock
	visit := func(l *zklock.Lease, cut bool) {
		if n := inside.Add(1); n != 1 {
			t.Errorf("%d are inside", n)
		}
		if l.Token() <= last {
			t.Errorf("token %d after %d", l.Token(), last)
		}
		last = l.Token()
		if rand.N(20) == 0 {
			time.Sleep(time.Millisecond)
		}
		inside.Add(-1)
		if err := l.Unlock(ctx); err != nil && !(cut && errors.Is(err, zklock.ErrNotHeld)) { // the reply may be lost
			t.Errorf("Unlock: %v", err)
		}
	}
	var wg sync.WaitGroup
	var acquisitions, refused atomic.Int64
	for i, o := range []zklock.CohortOptions{{Handovers: -1}, {Handovers: 2, LocalFirst: true}, {}} {
		to := at
		if i == 1 {
			to = p.at
		}
		k := dial(t, to, zklock.ClientOptions{}).Cohort(path, o)
		for range 6 {
			wg.Go(func() {
				for time.Now().Before(calm) {
					short, cancel := context.WithTimeout(ctx, rand.N(8*time.Millisecond))
					take := k.Lock
					if rand.N(4) == 0 {
						take = k.TryLock
					}
					l, err := take(short)
					cancel()
					switch {
					case err == nil:
						acquisitions.Add(1)
						visit(l, i == 1)
					case errors.Is(err, zklock.ErrNotAcquired), errors.Is(err, context.DeadlineExceeded):
						refused.Add(1)
					default:
						t.Errorf("Lock: %v", err)
					}
				}
				l, err := k.Lock(ctx)
				if err != nil {
					t.Errorf("in the calm: %v", err)
					return
				}
				visit(l, i == 1)
			})
		}
	}
	for range 4 {
		time.Sleep(250 * time.Millisecond)
		p.cut()
	}
	wg.Wait()
	t.Logf("%d acquisitions, %d refused", acquisitions.Load(), refused.Load())
	if acquisitions.Load() == 0 || refused.Load() == 0 {
		t.Error("the test shows nothing")
	}
	queued(t, see, path, 0)
}
