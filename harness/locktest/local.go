package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"locklab/harness"
)

// A shape is one way to drive a local lock.
type shape struct {
	workers int
	wait    harness.WaitPolicy
}

func (sh shape) String() string { return fmt.Sprintf("workers=%d wait=%s", sh.workers, sh.wait) }

// shapes returns the ways to drive v: several worker counts, and for a lock
// that polls also every other wait policy with two workers, or fewer for busy,
// which needs a processor for each.
func shapes(v *harness.Variant) []shape {
	var out []shape
	for _, n := range []int{1, 2, 4, 8} {
		if sh := (shape{atMost(v, n), harness.WaitAdaptive}); !slices.Contains(out, sh) {
			out = append(out, sh)
		}
	}
	if v.Family == harness.Spin {
		out = append(out,
			shape{atMost(v, min(2, runtime.GOMAXPROCS(0))), harness.WaitSpin},
			shape{atMost(v, 4), harness.WaitPause},
			shape{atMost(v, 4), harness.WaitYield})
	}
	return out
}

// atMost returns n, or fewer if the lock serves fewer.
func atMost(v *harness.Variant, n int) int {
	if most := v.Traits.MaxWorkers; most > 0 {
		return min(n, most)
	}
	return n
}

// handles returns a new lock's handles, one per worker.
func (sh shape) handles(v *harness.Variant) []sync.Locker {
	l := v.Local(harness.Setup{Workers: sh.workers, Wait: sh.wait})
	hs := make([]sync.Locker, sh.workers)
	for i := range hs {
		hs[i] = l.Worker(i)
	}
	return hs
}

// eachShape runs check on a new lock of every shape and says in which it failed.
func eachShape(s Subject, check func(hs []sync.Locker) error) error {
	for _, sh := range shapes(s.Variant) {
		if err := check(sh.handles(s.Variant)); err != nil {
			return fmt.Errorf("%v: %w", sh, err)
		}
	}
	return nil
}

// eachRound divides the stress time among the shapes, and among rounds in each
// of them. Every round has a new lock and new goroutines: most races are seen
// soon after a start or not for long. Every other round has pauses between
// turns, since a queue that is never empty hides what happens when it becomes
// so.
func eachRound(ctx context.Context, s Subject, check func(ctx context.Context, hs []sync.Locker, p *pace, lim limits) error) error {
	all := shapes(s.Variant)
	share := s.stress() / time.Duration(len(all))
	window := max(share/10, 4*time.Millisecond)
	for _, sh := range all {
		end := time.Now().Add(share)
		lim := limits{window: window, patience: s.patience()}
		if sh.workers == 1 { // no contention, nothing to find by chance
			end, lim.window = time.Now(), time.Millisecond
		}
		for round := 0; round == 0 || time.Now().Before(end); round++ {
			p := newPace(sh.workers, round%2 == 1)
			if err := check(ctx, sh.handles(s.Variant), p, lim); err != nil {
				return fmt.Errorf("%v: %w", sh, err)
			}
		}
	}
	return nil
}

func livenessLocal(ctx context.Context, s Subject) error {
	err := eachShape(s, func(hs []sync.Locker) error {
		_, err := drive(ctx, len(hs), limits{turns: 100, patience: s.patience()}, func(_ context.Context, i int) error {
			hs[i].Lock()
			runtime.Gosched() // so that waiters queue up
			hs[i].Unlock()
			return nil
		})
		return err
	})
	if err != nil {
		return err
	}
	return eachRound(ctx, s, func(ctx context.Context, hs []sync.Locker, p *pace, lim limits) error {
		_, err := drive(ctx, len(hs), lim, func(_ context.Context, i int) error {
			hs[i].Lock()
			//lint:ignore SA2001 an empty section lets arrivals meet releases
			hs[i].Unlock()
			p.think(i)
			return nil
		})
		return err
	})
}

func exclusionLocal(ctx context.Context, s Subject) error {
	return eachRound(ctx, s, func(ctx context.Context, hs []sync.Locker, p *pace, lim limits) error {
		var in inside
		_, err := drive(ctx, len(hs), lim, func(_ context.Context, i int) error {
			hs[i].Lock()
			err := in.visit(i, func() { p.hold(i) })
			hs[i].Unlock()
			p.think(i)
			return err
		})
		return err
	})
}

func lostUpdateLocal(ctx context.Context, s Subject) error {
	return eachRound(ctx, s, func(ctx context.Context, hs []sync.Locker, p *pace, lim limits) error {
		var n uint64 // plain memory, guarded by the lock and nothing else
		turns, err := drive(ctx, len(hs), lim, func(_ context.Context, i int) error {
			hs[i].Lock()
			seen := n
			p.hold(i)
			n = seen + 1
			hs[i].Unlock()
			p.think(i)
			return nil
		})
		if err != nil {
			return err
		}
		return compare(n, turns)
	})
}

// alone runs steps in a goroutine of their own. Nobody contends, so a step that
// waits has met a lock that is free and does not open.
func alone(ctx context.Context, s Subject, steps func() error) error {
	_, err := drive(ctx, 1, limits{turns: 1, patience: s.patience()}, func(context.Context, int) error { return steps() })
	var stuck *stuckError
	if errors.As(err, &stuck) {
		return fmt.Errorf("a free lock does not open: Lock has not returned for %v", stuck.patience)
	}
	return err
}

func reuseLocal(ctx context.Context, s Subject) error {
	return eachShape(s, func(hs []sync.Locker) error {
		var k int
		return alone(ctx, s, func() error {
			for range 10 { // one handle again and again, then the handles by turns
				for _, h := range slices.Concat(slices.Repeat(hs[:1], 5), hs) {
					h.Lock()
					k++
					h.Unlock()
				}
			}
			return nil
		})
	})
}

func tryLocal(ctx context.Context, s Subject) error {
	if _, ok := s.Variant.Local(harness.Setup{Workers: 1}).Worker(0).(harness.TryLocker); !ok {
		return NotApplicable("the lock has no TryLock")
	}
	err := eachShape(s, func(hs []sync.Locker) error {
		return alone(ctx, s, func() error { return trySteps(hs) })
	})
	if err != nil {
		return err
	}
	return eachRound(ctx, s, tryContended)
}

// trySteps takes the lock by turns as the first and the last worker.
func trySteps(hs []sync.Locker) error {
	a, b := hs[0], hs[len(hs)-1]
	tryA, tryB := a.(harness.TryLocker), b.(harness.TryLocker)
	two := len(hs) > 1 // a lock without handles gives everybody the same
	for range 3 {
		if !tryA.TryLock() {
			return errors.New("TryLock refused a free lock")
		}
		if two && tryB.TryLock() {
			return errors.New("TryLock took a lock that TryLock had taken")
		}
		a.Unlock()
		b.Lock()
		if two && tryA.TryLock() {
			return errors.New("TryLock took a lock that Lock had taken")
		}
		b.Unlock()
	}
	return nil
}

// tryContended mixes TryLock and Lock, and checks exclusion between them.
func tryContended(ctx context.Context, hs []sync.Locker, p *pace, lim limits) error {
	var in inside
	_, err := drive(ctx, len(hs), lim, func(_ context.Context, i int) error {
		if i%2 == 0 || !hs[i].(harness.TryLocker).TryLock() {
			hs[i].Lock()
		}
		err := in.visit(i, func() { p.hold(i) })
		hs[i].Unlock()
		p.think(i)
		return err
	})
	return err
}

// fifoLocal leaves out busy waiters, which would keep those who are to arrive
// after them from running.
func fifoLocal(ctx context.Context, s Subject) error {
	waits := []harness.WaitPolicy{harness.WaitAdaptive}
	if s.Variant.Family == harness.Spin {
		waits = append(waits, harness.WaitPause, harness.WaitYield)
	}
	for _, wait := range waits {
		sh := shape{atMost(s.Variant, queue), wait}
		hs := sh.handles(s.Variant)
		err := inOrder(ctx, s, len(hs), 2*time.Millisecond, func(_ context.Context, i int, visit func()) error {
			hs[i].Lock()
			visit()
			hs[i].Unlock()
			return nil
		})
		if err != nil {
			return fmt.Errorf("%v: %w", sh, err)
		}
	}
	return nil
}
