package locktest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"locklab/harness"
)

func livenessLocal(ctx context.Context, s Subject) error {
	err := eachShape(ctx, s, func(ctx context.Context, r *rig) error {
		r.lim.turns = 100
		_, err := r.drive(ctx, func(i int) error {
			r.hs[i].Lock()
			runtime.Gosched() // so that waiters queue up
			r.hs[i].Unlock()
			return nil
		})
		return err
	})
	if err != nil {
		return err
	}
	return eachRound(ctx, s, func(ctx context.Context, r *rig) error {
		_, err := r.drive(ctx, func(i int) error {
			r.hs[i].Lock()
			//lint:ignore SA2001 an empty section lets arrivals meet releases
			r.hs[i].Unlock()
			r.p.think(i)
			return nil
		})
		return err
	})
}

func exclusionLocal(ctx context.Context, s Subject) error {
	return eachRound(ctx, s, func(ctx context.Context, r *rig) error {
		var in inside
		_, err := r.drive(ctx, func(i int) error {
			r.hs[i].Lock()
			err := in.visit(i, func() { r.p.hold(i) })
			r.hs[i].Unlock()
			r.p.think(i)
			return err
		})
		return err
	})
}

func lostUpdateLocal(ctx context.Context, s Subject) error {
	return eachRound(ctx, s, func(ctx context.Context, r *rig) error {
		var n uint64 // plain memory, guarded by the lock and nothing else
		turns, err := r.drive(ctx, func(i int) error {
			r.hs[i].Lock()
			seen := n
			r.p.hold(i)
			n = seen + 1
			r.hs[i].Unlock()
			r.p.think(i)
			return nil
		})
		if err != nil {
			return err
		}
		return compare(n, turns)
	})
}

// isFree is what a step relies on where nobody else is about.
const isFree = "a free lock does not open: Lock has not returned"

func reuseLocal(ctx context.Context, s Subject) error {
	return eachShape(ctx, s, func(ctx context.Context, r *rig) error {
		var k int
		return alone(ctx, s, isFree, func() error {
			for range 10 { // one handle again and again, then the handles by turns
				for _, h := range slices.Concat(slices.Repeat(r.hs[:1], 5), r.hs) {
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
	err := eachShape(ctx, s, func(ctx context.Context, r *rig) error {
		return alone(ctx, s, isFree, func() error { return trySteps(r.hs) })
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
func tryContended(ctx context.Context, r *rig) error {
	var in inside
	_, err := r.drive(ctx, func(i int) error {
		if i%2 == 0 || !r.hs[i].(harness.TryLocker).TryLock() {
			r.hs[i].Lock()
		}
		err := in.visit(i, func() { r.p.hold(i) })
		r.hs[i].Unlock()
		r.p.think(i)
		return err
	})
	return err
}
