package locktest

import (
	"context"
	"runtime"
	"slices"
)

func livenessLocal(ctx context.Context, s Subject) error {
	err := eachShape(ctx, s, func(ctx context.Context, r *rig) error {
		r.lim.uses = 100
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
		var n uint64 // plain memory, guarded only by the lock
		uses, err := r.drive(ctx, func(i int) error {
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
		return compare(n, uses)
	})
}

const isFree = "a free lock does not open: Lock has not returned"

func reuseLocal(ctx context.Context, s Subject) error {
	if err := besideEachOther(ctx, s); err != nil {
		return err
	}
	return eachShape(ctx, s, func(ctx context.Context, r *rig) error {
		var k int
		return alone(ctx, s, isFree, func() error {
			for range 10 { // first one handle repeatedly, then the handles alternately
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

// besideEachOther nests two locks, released in the order of acquisition, and releases a lock
// in another goroutine: a handle belongs to none.
func besideEachOther(ctx context.Context, s Subject) error {
	sh := shape{workers: atMost(s.Variant, 2)}
	a, err := sh.handles(ctx, s)
	if err != nil {
		return err
	}
	b, err := sh.handles(ctx, s)
	if err != nil {
		return err
	}
	for i := range a {
		for _, step := range []func(){a[i].Lock, b[i].Lock, a[i].Unlock, b[i].Unlock} { // each in a separate goroutine
			err := alone(ctx, s, "another lock is held, or another goroutine took this one: Lock or Unlock has not returned", func() error { step(); return nil })
			if err != nil {
				return err
			}
		}
	}
	return nil
}
