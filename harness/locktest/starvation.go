package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

const fairHolds = 20

type unfair struct {
	holds    uint64
	patience time.Duration
}

// tooUnfair tolerates a waiter without a processor while others acquire in a microsecond.
var tooUnfair = unfair{10_000, time.Second}

// starvationLocal makes workers contend until each has had some acquisitions.
func starvationLocal(ctx context.Context, s Subject) error {
	for _, n := range []int{few, many} {
		sh := shape{workers: atMost(s.Variant, n)}
		if err := sh.once(ctx, s, limits{}, false, everyWorkerGets); err != nil {
			return err
		}
	}
	// A greedy worker starves another on a lock free for a moment: one of 3,000 attempts
	// succeeds. Several starve one that sets waiters aside.
	for _, c := range []struct {
		workers int
		hold    func()
		limit   unfair
	}{
		{2, func() { time.Sleep(100 * time.Microsecond) }, unfair{1000, 500 * time.Millisecond}},
		{few, runtime.Gosched, tooUnfair},
	} {
		sh := shape{workers: atMost(s.Variant, c.workers)}
		err := sh.once(ctx, s, limits{}, false, func(ctx context.Context, r *rig) error { return greedy(ctx, r, c.hold, c.limit) })
		if err != nil {
			return err
		}
	}
	return nil
}

// greedy makes worker 0 ask at intervals, while the others retake the lock at once.
func greedy(ctx context.Context, r *rig, hold func(), limit unfair) error {
	const turns = 15
	var taken atomic.Uint64 // acquisitions of the others
	var waits atomic.Bool   // whether worker 0 waits
	var wait turn           // of worker 0
	_, err := r.drive(ctx, func(i int) error {
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
			if ahead > 0 {
				return fmt.Errorf("worker 0 waits, and meanwhile the others have taken the lock %d times", ahead)
			}
			return nil
		}
		if wait.uses++; wait.uses > turns {
			return errOver
		}
		time.Sleep(100 * time.Microsecond)
		wait.begin(taken.Load())
		waits.Store(true)
		r.hs[0].Lock()
		waits.Store(false)
		r.hs[0].Unlock()
		return nil
	})
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

// everyWorkerGets counts acquisitions once all workers have asked for the lock. The
// holder yields, so that the others keep asking.
func everyWorkerGets(ctx context.Context, r *rig) error {
	n := len(r.hs)
	last := make([]turn, n)
	came := make([]bool, n) // each for its worker
	var asked, total, fed atomic.Uint64
	_, err := r.drive(ctx, func(i int) error {
		if !came[i] {
			came[i] = true
			last[i].begin(0)
			asked.Add(1)
		}
		r.hs[i].Lock()
		defer r.hs[i].Unlock()
		runtime.Gosched()
		if asked.Load() < uint64(n) {
			return nil
		}
		k := total.Add(1)
		last[i].begin(k)
		if last[i].uses++; last[i].uses == fairHolds && fed.Add(1) == uint64(n) {
			return errOver
		}
		if k%64 > 0 {
			return nil
		}
		for j := range last {
			if ahead := last[j].starved(k, tooUnfair); ahead > 0 {
				return fmt.Errorf("worker %d waits, and meanwhile the others have taken the lock %d times", j, ahead)
			}
		}
		return nil
	})
	if errors.Is(err, errOver) {
		return nil
	}
	return err
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
