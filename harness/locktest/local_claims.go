package locktest

import (
	"context"

	"locklab/harness"
)

// checkClaims checks a lock's claims, on which others rely, against its handles or sessions.
func checkClaims(ctx context.Context, s Subject) {
	h := shape{workers: 1}.handles(ctx, s)[0]
	_, shared := h.(harness.RWLocker)
	_, optimistic := h.(harness.OptimisticReader)
	switch claims := s.Variant.Traits.ReadWrite; {
	case claims && !shared && !optimistic:
		fail("the variant claims Traits.ReadWrite, but a worker is no harness.RWLocker, OptimisticReader or RWSession")
	case !claims && (shared || optimistic):
		fail("a worker has readers, but the variant does not claim Traits.ReadWrite")
	case shared && optimistic:
		fail("a %T is both harness.RWLocker and harness.OptimisticReader: it does not say how its readers read", h)
	}
}

func checkReentrant(ctx context.Context, s Subject) {
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
