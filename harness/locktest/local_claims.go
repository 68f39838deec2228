package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"locklab/harness"
)

// claimsLocal checks a lock's claims, on which others rely, against its handles.
func claimsLocal(_ context.Context, s Subject) error {
	h := s.Variant.Local(harness.Setup{Workers: 1 + spare(s.Variant)}).Worker(0)
	_, shared := h.(harness.RWLocker)
	_, optimistic := h.(harness.OptimisticReader)
	switch claims := s.Variant.Traits.ReadWrite; {
	case claims && !shared && !optimistic:
		return fmt.Errorf("the variant claims Traits.ReadWrite, but a %T is neither harness.RWLocker nor harness.OptimisticReader", h)
	case !claims && (shared || optimistic):
		return fmt.Errorf("a %T has readers, but the variant does not claim Traits.ReadWrite", h)
	case shared && optimistic:
		return fmt.Errorf("a %T is both harness.RWLocker and harness.OptimisticReader: it does not say how its readers read", h)
	}
	return nil
}

func hasPermits(v *harness.Variant) bool { return v.Traits.Permits > 1 }

func permitsLocal(ctx context.Context, s Subject) error {
	permits := s.Variant.Traits.Permits
	n := permits + 2
	if most := s.Variant.Traits.MaxWorkers; most > 0 && most < n {
		return NotApplicable(fmt.Sprintf("no worker to refuse: the lock serves at most %d workers", most))
	}
	sh := shape{workers: n}
	if err := countPermits(ctx, s, sh.all(s.Variant, n)); err != nil {
		return fmt.Errorf("%v: %w", sh, err)
	}
	if err := permitsInBatches(ctx, s); err != nil {
		return err
	}
	// All permits are free here: the workers contend for them.
	return roundsOf(ctx, s, []shape{sh}, func(ctx context.Context, r *rig) error {
		r.hs = sh.all(s.Variant, n)
		var inside atomic.Int64
		_, err := r.drive(ctx, func(i int) (err error) {
			r.hs[i].Lock()
			if k := inside.Add(1); k > int64(permits) {
				err = tooMany(k, permits)
			}
			r.p.hold(i)
			inside.Add(-1)
			r.hs[i].Unlock()
			r.p.think(i)
			return err
		})
		return err
	})
}

func tooMany(got int64, permits int) error {
	return fmt.Errorf("%d workers hold a lock that claims %d permits", got, permits)
}

func countPermits(ctx context.Context, s Subject, hs []sync.Locker) error {
	permits := s.Variant.Traits.Permits
	next := hs[permits]
	err := alone(ctx, s, "there are permits left, but Lock has not returned", func() error {
		for _, h := range hs[:permits] {
			h.Lock()
		}
		if try, ok := next.(harness.TryLocker); ok && try.TryLock() {
			return tooMany(int64(permits)+1, permits)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := shutOut(ctx, s, tooMany(int64(permits)+1, permits).Error(), next.Lock, hs[0].Unlock); err != nil {
		return err
	}
	for _, h := range hs[1 : permits+1] {
		h.Unlock()
	}
	return nil
}

func reentrantLocal(ctx context.Context, s Subject) error {
	if n := atMost(s.Variant, 2); n < 2 {
		return NotApplicable("no other worker to keep out: the lock serves one")
	}
	return eachShape(ctx, s, func(ctx context.Context, r *rig) error {
		if len(r.hs) < 2 {
			return nil
		}
		owner, other := r.hs[0], r.hs[1]
		const depth = 3
		err := alone(ctx, s, "its owner waits for itself: Lock has not returned", func() error {
			for range depth {
				owner.Lock()
			}
			for range depth - 1 {
				owner.Unlock()
			}
			if try, ok := other.(harness.TryLocker); ok && try.TryLock() {
				return errors.New("TryLock took a lock whose owner has not freed it as often as it took it")
			}
			return nil
		})
		if err != nil {
			return err
		}
		err = shutOut(ctx, s, "another worker got the lock before its owner freed it as often as it took it", other.Lock, owner.Unlock)
		if err != nil {
			return err
		}
		other.Unlock()
		return nil
	})
}
