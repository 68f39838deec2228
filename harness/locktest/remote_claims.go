package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"locklab/harness"
)

func permitsRemote(ctx context.Context, s Subject) error {
	permits := s.Variant.Traits.Permits
	n := permits + 2
	if most := s.Variant.Traits.MaxWorkers; most > 0 && most < n {
		return NotApplicable(fmt.Sprintf("no worker to refuse: the lock serves at most %d workers", most))
	}
	return inFixtureWithout(ctx, s, 0, func(r *fixture) error {
		if err := r.fill(n, 2); err != nil {
			return err
		}
		if err := r.countPermits(permits); err != nil {
			return err
		}
		var inside atomic.Int64
		var uses atomic.Uint64
		lim := limits{window: s.stress(), patience: s.patience()}
		_, err := drive(ctx, n, lim, func(ctx context.Context, i int) error {
			return r.visit(ctx, i, func(harness.Lease) error {
				defer inside.Add(-1)
				if k := inside.Add(1); k > int64(permits) {
					return tooMany(k, permits)
				}
				linger(uses.Add(1))
				return nil
			})
		})
		return err
	})
}

func (r *fixture) countPermits(permits int) error {
	var leases []harness.Lease
	for i := range permits {
		lease, err := r.lock(i)
		if err != nil {
			return fmt.Errorf("%d permits are taken of the %d claimed: %w", i, permits, err)
		}
		leases = append(leases, lease)
	}
	err := r.held(permits)
	if err != nil {
		err = fmt.Errorf("%d permits are taken of the %d claimed: %w", permits, permits, err)
	}
	for _, lease := range leases {
		err = errors.Join(err, r.unlock(lease))
	}
	return err
}

func reentrantRemote(ctx context.Context, s Subject) error {
	return inCompany(ctx, s, func(r *fixture) error {
		outer, err := r.lock(0)
		if err != nil {
			return err
		}
		inner, err := r.lock(0)
		if err != nil {
			return fmt.Errorf("its owner takes it again: %w", err)
		}
		if err := r.heldByOwner(); err != nil {
			return err
		}
		if err := r.unlock(inner); err != nil {
			return err
		}
		if err := r.heldByOwner(); err != nil {
			return fmt.Errorf("after the first of two Unlocks: %w", err)
		}
		if err := r.unlock(outer); err != nil {
			return err
		}
		return r.acquireRelease(2)
	})
}

func (r *fixture) heldByOwner() error { return atOnce([]int{1, 2}, r.held) }
