package locktest

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"locklab/harness"
)

const fairHolds = 20

type unfair struct {
	holds    uint64
	patience time.Duration
}

// tooUnfair tolerates a waiter without a processor while others acquire in a microsecond.
var tooUnfair = unfair{10_000, time.Second}

// starvationLocal makes workers contend until each has had some acquisitions.
func starvationLocal(ctx context.Context, s Subject) {
	once := func(workers int, check func(r *rig)) {
		shape{workers: atMost(s.Variant, workers)}.once(ctx, s, limits{}, false, check)
	}
	for _, n := range []int{few, many} {
		once(n, func(r *rig) { everyWorkerGets(ctx, r) })
	}
	// A greedy worker starves another on a lock free for a moment: one of 3,000 attempts
	// succeeds. Several starve one that sets waiters aside.
	once(2, func(r *rig) {
		greedy(ctx, r, func() { time.Sleep(100 * time.Microsecond) }, unfair{1000, 500 * time.Millisecond})
	})
	once(few, func(r *rig) { greedy(ctx, r, runtime.Gosched, tooUnfair) })
}

// greedy makes worker 0 ask at intervals, while the others retake the lock at once.
func greedy(ctx context.Context, r *rig, hold func(), limit unfair) {
	const turns = 15
	var taken atomic.Uint64 // acquisitions of the others
	var waits atomic.Bool   // whether worker 0 waits
	var wait turn           // of worker 0
	r.drive(ctx, func(_ context.Context, i int) {
		if i > 0 {
			var ahead uint64
			for k := 0; k < 64 && ahead == 0; k++ { // nothing comes between Unlock and Lock
				r.hs[i].Lock()
				if n := taken.Add(1); waits.Load() {
					ahead = wait.starved(n, limit)
				}
				hold()
				r.hs[i].Unlock()
			}
			starved(0, ahead)
			return
		}
		if wait.uses++; wait.uses > turns {
			must(errOver)
		}
		time.Sleep(100 * time.Microsecond)
		wait.begin(taken.Load())
		waits.Store(true)
		r.hs[0].Lock()
		waits.Store(false)
		r.hs[0].Unlock()
	})
}

func starved(worker int, ahead uint64) {
	if ahead > 0 {
		fail("worker %d waits, and meanwhile the others have taken the lock %d times", worker, ahead)
	}
}

// everyWorkerGets counts acquisitions once all workers have asked for the lock. The
// holder yields, so that the others keep asking.
func everyWorkerGets(ctx context.Context, r *rig) {
	n := len(r.hs)
	last := make([]turn, n)
	came := make([]bool, n) // each for its worker
	var asked, total, fed atomic.Uint64
	r.drive(ctx, func(_ context.Context, i int) {
		if !came[i] {
			came[i] = true
			last[i].begin(0)
			asked.Add(1)
		}
		r.hs[i].Lock()
		defer r.hs[i].Unlock()
		runtime.Gosched()
		if asked.Load() < uint64(n) {
			return
		}
		k := total.Add(1)
		last[i].begin(k)
		if last[i].uses++; last[i].uses == fairHolds && fed.Add(1) == uint64(n) {
			must(errOver)
		}
		if k%64 > 0 {
			return
		}
		for j := range last {
			starved(j, last[j].starved(k, tooUnfair))
		}
	})
}

type turn struct {
	uses  int // of this worker
	taken atomic.Uint64
	at    atomic.Int64
}

func (t *turn) begin(taken uint64) {
	t.taken.Store(taken)
	t.at.Store(time.Now().UnixNano())
}

func (t *turn) starved(taken uint64, limit unfair) (ahead uint64) {
	if from := t.taken.Load(); taken > from+limit.holds && time.Since(time.Unix(0, t.at.Load())) > limit.patience {
		return taken - from
	}
	return 0
}

// Each worker needs fairRemoteHolds before the average is above unfairRemoteHolds.
const (
	fairRemoteHolds   = 4
	unfairRemoteHolds = 40
)

func starvationRemote(ctx context.Context, s Subject) {
	n := atMost(s.Variant, 5)
	inFixture(ctx, s, func(r *fixture) {
		r.fill(n, 2)
		uses := make([]atomic.Uint64, n)
		var all, fed atomic.Uint64
		drive(ctx, n, limits{patience: s.patience()}, func(ctx context.Context, i int) {
			r.visit(ctx, i, func(harness.Lease) error { time.Sleep(time.Millisecond); return nil })
			if uses[i].Add(1) == fairRemoteHolds && fed.Add(1) == uint64(n) {
				must(errOver)
			}
			if all.Add(1) < unfairRemoteHolds*uint64(n) {
				return
			}
			for j := range uses {
				if k := uses[j].Load(); k < fairRemoteHolds {
					fail("worker %d has had the lock %d times, and all together %d times", j, k, all.Load())
				}
			}
		})
	})
}
