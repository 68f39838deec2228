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
