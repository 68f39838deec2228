package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/harness"
)

func checkOwner(ctx context.Context, s Subject) {
	// The next holder may be in another client, in the same, or the same worker.
	atOnce([]int{2, 1, 0}, func(next int) {
		inCompany(ctx, s, func(r *fixture) {
			stale := r.lock(0)
			r.unlock(stale)
			r.refused(stale, "a released lease while the lock is free")
			lease := r.lock(next)
			r.refused(stale, fmt.Sprintf("a stale lease while worker %d holds the lock", next))
			within("after Unlock of a stale lease", func() {
				r.held((next + 1) % 3)
				alive(lease)
			})
			r.unlock(lease)
		})
	})
}

func (r *fixture) refused(l harness.Lease, what string) {
	ctx, cancel := r.patient()
	defer cancel()
	switch err := l.Unlock(ctx); {
	case err == nil:
		fail("the Unlock of %s returned nil", what)
	case !errors.Is(err, harness.ErrNotHeld):
		fail("the Unlock of %s returned %w, which does not wrap ErrNotHeld", what, err)
	}
}

func unlockCancelled(ctx context.Context, s Subject) {
	inCompany(ctx, s, func(r *fixture) {
		over, cancel := context.WithCancel(ctx)
		cancel()
		past, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
		defer cancel()
		for _, end := range []context.Context{over, past} {
			within(fmt.Sprintf("Unlock under a context that has ended (%v)", end.Err()), func() {
				must(r.lock(0).Unlock(end))
				for _, i := range []int{2, 1} {
					r.acquireRelease(i)
				}
			})
		}
	})
}

func checkLease(ctx context.Context, s Subject) {
	inFixture(ctx, s, func(r *fixture) {
		r.fill(r.atMost(2), 2)
		for _, i := range []int{0, len(r.sessions) - 1, 0} {
			r.leave(r.lock(i))
		}
	})
}

// leave releases a lease, which must hold the lock until then.
func (r *fixture) leave(l harness.Lease) {
	alive(l)
	r.unlock(l)
	r.ended(l)
}

func alive(l harness.Lease) {
	if err := l.Err(); err != nil {
		fail("a lease that holds the lock has Err %w, want nil", err)
	}
	select {
	case <-l.Done():
		fail("a lease that holds the lock has Done closed")
	default:
	}
	if until, ok := l.Deadline(); ok && !until.After(time.Now()) {
		fail("a new lease has a Deadline %v ago", time.Since(until))
	}
}

func (r *fixture) ended(l harness.Lease) {
	if !opens(l.Done(), r.s.patience()) {
		fail("a released lease has Done open")
	}
	if err := l.Err(); !errors.Is(err, harness.ErrReleased) {
		fail("a released lease has Err %v, want ErrReleased", err)
	}
}

func tryRemote(ctx context.Context, s Subject) {
	inCompany(ctx, s, func(r *fixture) {
		if _, ok := r.sessions[0].(harness.TrySession); !ok {
			must(NotApplicable("the lock has no TryLock"))
		}
		for _, i := range []int{0, 2, 1} {
			lease, err := r.try(i)
			if err != nil {
				fail("worker %d: TryLock of a free lock: %w", i, err)
			}
			alive(lease)
			end := time.Now().Add(s.stress() / 2)
			for k := 0; k < fewTries || k < manyTries && time.Now().Before(end); k++ {
				within(fmt.Sprintf("the %dth time", k+1), func() { r.tryRefused((i + 1 + k%2) % 3) })
			}
			r.unlock(lease)
			within("after TryLock", func() { r.acquireRelease((i + 2) % 3) })
		}
	})
}

// The tries of a held lock, if the stress time allows, and at least.
const (
	manyTries = 300
	fewTries  = 10
)

func (r *fixture) try(i int) (harness.Lease, error) {
	ctx, cancel := r.patient()
	defer cancel()
	return r.sessions[i].(harness.TrySession).TryLock(ctx)
}

func (r *fixture) tryRefused(i int) {
	switch lease, err := r.try(i); {
	case err == nil:
		must(errors.Join(fmt.Errorf("worker %d: TryLock took a held lock", i), r.release(lease)))
	case errors.Is(err, context.DeadlineExceeded):
		fail("worker %d: TryLock waits for a held lock", i)
	case !errors.Is(err, harness.ErrNotAcquired):
		fail("worker %d: TryLock of a held lock returned %w, which does not wrap ErrNotAcquired", i, err)
	}
}

func checkReadLease(ctx context.Context, s Subject) {
	inCompany(ctx, s, func(r *fixture) {
		first, second := r.get(0, reading), r.get(1, reading)
		alive(first)
		over, cancel := context.WithCancel(ctx)
		cancel()
		if err := first.Unlock(over); err != nil {
			fail("a reader's Unlock under a context that has ended: %w", err)
		}
		r.ended(first)
		r.refused(first, "a reader's released lease while another reads")
		within("a reader is inside, after another's second Unlock", func() {
			alive(second)
			r.keptOut(2, writing)
		})
		r.unlock(second)
		for _, i := range []int{2, 0} { // of another client, and the same worker
			writer := r.get(i, writing)
			r.refused(first, "a reader's released lease while a writer holds the lock")
			within("a writer is inside, after Unlock of a reader's stale lease", func() { r.keptOut(1, reading) })
			r.unlock(writer)
		}
		r.free()
	})
}

func reentrantRemote(ctx context.Context, s Subject) {
	inCompany(ctx, s, func(r *fixture) {
		keptOut := func() { atOnce([]int{1, 2}, r.held) }
		outer := r.lock(0)
		var inner harness.Lease
		within("its owner takes it again", func() { inner = r.lock(0) })
		keptOut()
		r.unlock(inner)
		within("after the first of two Unlocks", keptOut)
		r.unlock(outer)
		r.acquireRelease(2)
	})
}
