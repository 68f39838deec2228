package locktest

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

type unfair struct {
	holds    uint64
	patience time.Duration
}

// tooUnfair tolerates a waiter without a processor while others acquire in a microsecond.
var tooUnfair = unfair{10_000, time.Second}

// starvation makes workers contend until each has had some acquisitions.
func starvation(ctx context.Context, s Subject) {
	once := func(workers int, check func(r *rig)) {
		shape{workers: atMost(s.Variant, workers), per: 2}.once(ctx, s, limits{}, false, check)
	}
	if isRemote(s.Variant) {
		hold := func() { time.Sleep(time.Millisecond) }
		once(5, func(r *rig) { everyWorkerGets(ctx, r, 4, hold, unfair{holds: 200}) })
		return
	}
	for _, n := range []int{few, many} {
		once(n, func(r *rig) { everyWorkerGets(ctx, r, 20, runtime.Gosched, tooUnfair) })
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

// everyWorkerGets counts acquisitions once all workers have asked for the lock, until each has had
// enough. The holder yields or sleeps, so that the others keep asking.
func everyWorkerGets(ctx context.Context, r *rig, enough int, hold func(), limit unfair) {
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
		hold()
		if asked.Load() < uint64(n) {
			return
		}
		k := total.Add(1)
		last[i].begin(k)
		if last[i].uses++; last[i].uses == enough && fed.Add(1) == uint64(n) {
			must(errOver)
		}
		if k%64 > 0 {
			return
		}
		for j := range last {
			starved(j, last[j].starved(k, limit))
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
