package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
)

func claimsRemote(ctx context.Context, s Subject) error {
	return inFixture(ctx, s, func(r *fixture) error {
		if err := r.fill(1, 1); err != nil {
			return err
		}
		_, reads := r.sessions[0].(harness.RWSession)
		switch claims := s.Variant.Traits.ReadWrite; {
		case claims && !reads:
			return fmt.Errorf("the variant claims Traits.ReadWrite, but a %T is no harness.RWSession", r.sessions[0])
		case !claims && reads:
			return fmt.Errorf("a %T has RLock, but the variant does not claim Traits.ReadWrite", r.sessions[0])
		}
		return nil
	})
}

func remoteReaders(check func(ctx context.Context, s Subject) error) func(ctx context.Context, s Subject) error {
	return func(ctx context.Context, s Subject) error {
		err := inFixture(ctx, s, func(r *fixture) error {
			if err := r.fill(1, 1); err != nil {
				return err
			}
			if _, ok := r.sessions[0].(harness.RWSession); !ok {
				return NotApplicable("the sessions are no RWSession, which another rule reports")
			}
			return nil
		})
		if err != nil {
			return err
		}
		return check(ctx, s)
	}
}

type mode bool

const (
	writing mode = false
	reading mode = true
)

func (m mode) String() string {
	if m == reading {
		return "RLock"
	}
	return "Lock"
}

func (r *fixture) enter(ctx context.Context, i int, m mode) (harness.Lease, error) {
	if m == reading {
		return r.sessions[i].(harness.RWSession).RLock(ctx)
	}
	return r.sessions[i].Lock(ctx)
}

func (r *fixture) get(i int, m mode) (harness.Lease, error) {
	ctx, cancel := r.patient()
	defer cancel()
	lease, err := r.enter(ctx, i, m)
	switch {
	case err == nil && lease == nil:
		return nil, fmt.Errorf("worker %d: %v returned neither a lease nor an error", i, m)
	case errors.Is(err, context.DeadlineExceeded) && r.ctx.Err() == nil:
		return nil, fmt.Errorf("worker %d waits for %v longer than %v although nothing keeps it out", i, m, r.s.patience())
	case err != nil:
		return nil, fmt.Errorf("worker %d: %v: %w", i, m, err)
	}
	return lease, nil
}

func (r *fixture) keptOut(i int, m mode) error {
	ctx, cancel := context.WithTimeout(r.ctx, soon)
	defer cancel()
	lease, err := r.enter(ctx, i, m)
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("worker %d got the lock by %v", i, m), r.unlock(lease))
	case !errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("worker %d: %v for %v of a held lock: %w, which is not the context's error", i, m, soon, err)
	}
	return nil
}

func (r *fixture) free() error {
	for i := range r.sessions {
		for _, m := range []mode{reading, writing, reading} {
			lease, err := r.get(i, m)
			if err != nil {
				return err
			}
			if err := r.unlock(lease); err != nil {
				return err
			}
		}
	}
	return nil
}

// readExclusionRemote tries steps without chance, then judges the times of contending workers.
func readExclusionRemote(ctx context.Context, s Subject) error {
	if err := inCompany(ctx, s, apart); err != nil && !isNotApplicable(err) {
		return err
	}
	return eachCrowd(ctx, s, func(r *fixture, lim limits) error {
		holds, err := r.mixed(ctx, lim, 2*time.Millisecond)
		if err != nil {
			return err
		}
		return violated(oracle.Overlaps(holds, 1))
	})
}

func apart(r *fixture) error {
	first, err := r.get(0, reading)
	if err != nil {
		return err
	}
	second, err := r.get(2, reading)
	if err != nil {
		return errors.Join(fmt.Errorf("beside another reader: %w", err), r.unlock(first))
	}
	if err := r.keptOut(1, writing); err != nil {
		return fmt.Errorf("two readers are inside: %w", err)
	}
	if err := r.unlock(first); err != nil {
		return err
	}
	if err := atOnce([]int{0, 1}, func(i int) error { return r.keptOut(i, writing) }); err != nil {
		return fmt.Errorf("one of two readers has left: %w", err)
	}
	if err := r.unlock(second); err != nil {
		return err
	}
	writer, err := r.get(0, writing)
	if err != nil {
		return fmt.Errorf("both readers have left: %w", err)
	}
	if err := atOnce([]int{1, 2}, func(i int) error { return r.keptOut(i, reading) }); err != nil {
		return fmt.Errorf("a writer is inside: %w", err)
	}
	if err := r.unlock(writer); err != nil {
		return err
	}
	return r.free()
}

// mixed makes workers write every fourth time, sometimes lingering, and returns all holds.
func (r *fixture) mixed(ctx context.Context, lim limits, linger time.Duration) ([]oracle.Hold, error) {
	n := len(r.sessions)
	p, epoch := newPace(n, false), time.Now()
	logs := make([][]oracle.Hold, n)
	_, err := drive(ctx, n, lim, func(ctx context.Context, i int) error {
		m := mode(p.reads(i))
		h := oracle.Hold{Worker: i, Shared: bool(m), Requested: int64(time.Since(epoch))}
		lease, err := r.enter(ctx, i, m)
		if err != nil {
			return fmt.Errorf("worker %d: %v: %w", i, m, err)
		}
		h.Acquired, h.Token = int64(time.Since(epoch)), lease.Token()
		if len(logs[i])%4 == 3 {
			time.Sleep(linger)
		}
		h.Releasing = int64(time.Since(epoch))
		logs[i] = append(logs[i], h)
		return r.unlock(lease)
	})
	if err != nil {
		return nil, err
	}
	var holds []oracle.Hold
	for _, log := range logs {
		holds = append(holds, log...)
	}
	oracle.Sort(holds)
	return holds, nil
}

func violated(vs []harness.Violation) error {
	if len(vs) == 0 {
		return nil
	}
	return fmt.Errorf("%s (%d times)", vs[0].Detail, vs[0].Count)
}

func readersShareRemote(ctx context.Context, s Subject) error {
	n := atMost(s.Variant, 4)
	if n < 2 {
		return NotApplicable("no other worker to share with: the lock serves one")
	}
	return inFixture(ctx, s, func(r *fixture) error {
		if err := r.fill(n, 2); err != nil {
			return err
		}
		for range 3 {
			var leases []harness.Lease
			for i := range n {
				lease, err := r.get(i, reading)
				if err != nil {
					return fmt.Errorf("%d readers are inside: %w", i, err)
				}
				leases = append(leases, lease)
			}
			for _, lease := range leases {
				if err := errors.Join(lease.Err(), r.unlock(lease)); err != nil {
					return err
				}
			}
		}
		return r.free()
	})
}

func writerProgressRemote(ctx context.Context, s Subject) error {
	n := atMost(s.Variant, throng)
	if n < 3 {
		return NotApplicable(fmt.Sprintf("readers cannot follow each other: the lock serves at most %d workers", n))
	}
	return inFixture(ctx, s, func(r *fixture) error {
		if err := r.fill(n, 2); err != nil {
			return err
		}
		var entries atomic.Uint64
		var over atomic.Bool
		lim := limits{uses: 1, patience: (throngWrites + 2) * s.patience()}
		_, err := drive(ctx, n, lim, func(ctx context.Context, i int) error {
			if i == 0 {
				defer over.Store(true)
				return r.writeAmong(ctx, &entries, uint64(n))
			}
			for !over.Load() {
				lease, err := r.enter(ctx, i, reading)
				if err != nil {
					return fmt.Errorf("worker %d: RLock: %w", i, err)
				}
				relay(&entries, &over, min(s.patience()/4, soon), aBit)
				if err := r.unlock(lease); err != nil {
					return err
				}
			}
			return nil
		})
		return err
	})
}

func aBit() { time.Sleep(100 * time.Microsecond) }

func (r *fixture) writeAmong(ctx context.Context, entries *atomic.Uint64, n uint64) error {
	for range throngWrites {
		for seen := entries.Load(); entries.Load() < seen+n; aBit() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		patient, cancel := context.WithTimeout(ctx, r.s.patience())
		lease, err := r.enter(patient, 0, writing)
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			return fmt.Errorf("readers came and went without a gap, and a writer has waited for %v", r.s.patience())
		case err != nil:
			return fmt.Errorf("the writer among readers: %w", err)
		}
		if err := r.unlock(lease); err != nil {
			return err
		}
	}
	return nil
}
