package locktest

import (
	"context"

	"locklab/harness"
)

// claimsLocal checks a lock's claims, on which others rely, against its handles.
func claimsLocal(_ context.Context, s Subject) {
	h := s.Variant.Local(harness.Setup{Workers: 1 + spare(s.Variant)}).Worker(0)
	_, shared := h.(harness.RWLocker)
	_, optimistic := h.(harness.OptimisticReader)
	switch claims := s.Variant.Traits.ReadWrite; {
	case claims && !shared && !optimistic:
		fail("the variant claims Traits.ReadWrite, but a %T is neither harness.RWLocker nor harness.OptimisticReader", h)
	case !claims && (shared || optimistic):
		fail("a %T has readers, but the variant does not claim Traits.ReadWrite", h)
	case shared && optimistic:
		fail("a %T is both harness.RWLocker and harness.OptimisticReader: it does not say how its readers read", h)
	}
}

func reentrantLocal(ctx context.Context, s Subject) {
	if atMost(s.Variant, 2) < 2 {
		must(NotApplicable("no other worker to keep out: the lock serves one"))
	}
	eachShape(ctx, s, func(r *rig) {
		if len(r.hs) < 2 {
			return
		}
		owner, other := r.hs[0], r.hs[1]
		const depth = 3
		alone(ctx, s, "its owner waits for itself: Lock has not returned", func() {
			for range depth {
				owner.Lock()
			}
			for range depth - 1 {
				owner.Unlock()
			}
			if try, ok := other.(harness.TryLocker); ok && try.TryLock() {
				fail("TryLock took a lock whose owner has not freed it as often as it took it")
			}
		})
		shutOut(ctx, s, "another worker got the lock before its owner freed it as often as it took it", other.Lock, owner.Unlock)
		other.Unlock()
	})
}
