package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"locklab/harness"
)

// inCompany runs check in a fixture of workers 0 and 1 behind one client, 2 behind another.
func inCompany(ctx context.Context, s Subject, check func(r *fixture) error) error {
	if n := atMost(s.Variant, 3); n < 3 {
		return NotApplicable(fmt.Sprintf("needs three workers: the lock serves at most %d", n))
	}
	return inFixture(ctx, s, func(r *fixture) error {
		if err := r.fill(3, 2); err != nil {
			return err
		}
		return check(r)
	})
}

func ownerRemote(ctx context.Context, s Subject) error {
	// The next holder may be in another client, in the same, or the same worker.
	return atOnce([]int{2, 1, 0}, func(next int) error {
		return inCompany(ctx, s, func(r *fixture) error {
			first, err := r.lock(0)
			if err != nil {
				return err
			}
			if err := r.unlock(first); err != nil {
				return err
			}
			if err := r.refused(first, "a released lease while the lock is free"); err != nil {
				return err
			}
			return r.staleUnlock(first, next)
		})
	})
}

func atOnce(workers []int, check func(worker int) error) error {
	errs := make([]error, len(workers))
	var wg sync.WaitGroup
	for k, i := range workers {
		wg.Go(func() { errs[k] = check(i) })
	}
	wg.Wait()
	return cmp.Or(errs...)
}

func (r *fixture) staleUnlock(stale harness.Lease, next int) error {
	lease, err := r.lock(next)
	if err != nil {
		return err
	}
	if err := r.refused(stale, fmt.Sprintf("a stale lease while worker %d holds the lock", next)); err != nil {
		return err
	}
	if err := r.held((next + 1) % 3); err != nil {
		return fmt.Errorf("after Unlock of a stale lease: %w", err)
	}
	if err := lease.Err(); err != nil {
		return fmt.Errorf("after Unlock of a stale lease the holder's Err is %w", err)
	}
	return r.unlock(lease)
}

func (r *fixture) refused(l harness.Lease, what string) error {
	ctx, cancel := r.patient()
	defer cancel()
	switch err := l.Unlock(ctx); {
	case err == nil:
		return fmt.Errorf("the Unlock of %s returned nil", what)
	case !errors.Is(err, harness.ErrNotHeld):
		return fmt.Errorf("the Unlock of %s returned %w, which does not wrap ErrNotHeld", what, err)
	}
	return nil
}

func unlockCancelledRemote(ctx context.Context, s Subject) error {
	return inCompany(ctx, s, func(r *fixture) error {
		over, cancel := context.WithCancel(ctx)
		cancel()
		past, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
		defer cancel()
		for _, end := range []context.Context{over, past} {
			lease, err := r.lock(0)
			if err != nil {
				return err
			}
			if err := lease.Unlock(end); err != nil {
				return fmt.Errorf("the Unlock under a context that has ended (%w): %w", end.Err(), err)
			}
			for _, i := range []int{2, 1} {
				if err := r.acquireRelease(i); err != nil {
					return fmt.Errorf("after Unlock under a context that has ended (%w): %w", end.Err(), err)
				}
			}
		}
		return nil
	})
}

func leaseRemote(ctx context.Context, s Subject) error {
	return inFixture(ctx, s, func(r *fixture) error {
		if err := r.fill(r.atMost(2), 2); err != nil {
			return err
		}
		for _, i := range []int{0, len(r.sessions) - 1, 0} {
			lease, err := r.lock(i)
			if err != nil {
				return err
			}
			if err := alive(lease); err != nil {
				return err
			}
			if err := r.unlock(lease); err != nil {
				return err
			}
			if err := r.ended(lease); err != nil {
				return err
			}
		}
		return nil
	})
}

func alive(l harness.Lease) error {
	if err := l.Err(); err != nil {
		return fmt.Errorf("a lease that holds the lock has Err %w, want nil", err)
	}
	select {
	case <-l.Done():
		return fmt.Errorf("a lease that holds the lock has Done closed")
	default:
	}
	if until, ok := l.Deadline(); ok && !until.After(time.Now()) {
		return fmt.Errorf("a new lease has a Deadline %v ago", time.Since(until))
	}
	return nil
}

func (r *fixture) ended(l harness.Lease) error {
	select {
	case <-l.Done():
	case <-time.After(r.s.patience()):
		return fmt.Errorf("a released lease has Done open")
	}
	if err := l.Err(); !errors.Is(err, harness.ErrReleased) {
		return fmt.Errorf("a released lease has Err %v, want ErrReleased", err)
	}
	return nil
}

func tryRemote(ctx context.Context, s Subject) error {
	return inCompany(ctx, s, func(r *fixture) error {
		if _, ok := r.sessions[0].(harness.TrySession); !ok {
			return NotApplicable("the lock has no TryLock")
		}
		for _, i := range []int{0, 2, 1} {
			lease, err := r.try(i)
			if err != nil {
				return fmt.Errorf("worker %d: TryLock of a free lock: %w", i, err)
			}
			if err := alive(lease); err != nil {
				return err
			}
			end := time.Now().Add(s.stress() / 2)
			for k := 0; k < fewTries || k < manyTries && time.Now().Before(end); k++ {
				if err := r.tryRefused((i + 1 + k%2) % 3); err != nil {
					return fmt.Errorf("the %dth time: %w", k+1, err)
				}
			}
			if err := r.unlock(lease); err != nil {
				return err
			}
			if err := r.acquireRelease((i + 2) % 3); err != nil {
				return fmt.Errorf("after TryLock: %w", err)
			}
		}
		return nil
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

func (r *fixture) tryRefused(i int) error {
	switch lease, err := r.try(i); {
	case err == nil:
		return errors.Join(fmt.Errorf("worker %d: TryLock took a held lock", i), r.unlock(lease))
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("worker %d: TryLock waits for a held lock", i)
	case !errors.Is(err, harness.ErrNotAcquired):
		return fmt.Errorf("worker %d: TryLock of a held lock returned %w, which does not wrap ErrNotAcquired", i, err)
	}
	return nil
}
