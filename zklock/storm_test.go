package zklock_test

import (
	"context"
	"math/rand/v2"
	"sync"
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
	r := rush{rising: true}
	var wg sync.WaitGroup
	for i, o := range []zklock.CohortOptions{{Handovers: -1}, {Handovers: 2, LocalFirst: true}, {}} {
		to, lossy := at, i == 1
		if lossy {
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
					r.visit(t, short, take, lossy)
					cancel()
				}
				if !r.visit(t, ctx, k.Lock, lossy) {
					t.Error("it does not get in when all is calm")
				}
			})
		}
	}
	for range 4 {
		time.Sleep(250 * time.Millisecond)
		p.cut()
	}
	wg.Wait()
	t.Logf("%d acquisitions, %d refused", r.acquisitions.Load(), r.refusals.Load())
	if r.acquisitions.Load() == 0 || r.refusals.Load() == 0 {
		t.Error("the test shows nothing")
	}
	awaitQueue(t, see, path, 0)
}
