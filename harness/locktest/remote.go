package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"locklab/harness"
)

func crowds(v *harness.Variant) []crowd {
	out := []crowd{{1, 1}}
	if n := atMost(v, 4); n > 1 {
		out = append(out, crowd{n, 1}, crowd{n, 2})
	}
	return out
}

type crowd struct{ workers, per int }

func (c crowd) String() string { return fmt.Sprintf("workers=%d per-client=%d", c.workers, c.per) }

// eachCrowd runs check in a new fixture for every crowd, each with all of the stress time.
func eachCrowd(ctx context.Context, s Subject, check func(r *fixture, lim limits) error) error {
	for _, c := range crowds(s.Variant) {
		lim := limits{window: s.stress(), patience: s.patience()}
		err := inFixture(ctx, s, func(r *fixture) error {
			if err := r.fill(c.workers, c.per); err != nil {
				return err
			}
			return check(r, lim)
		})
		if err != nil {
			return fmt.Errorf("%v: %w", c, err)
		}
	}
	return nil
}

// visit takes the lock as worker i, calls stay with the lease, and releases it. A wait
// that ends with ctx is an error; drive watches for stuck locks.
func (r *fixture) visit(ctx context.Context, i int, stay func(harness.Lease) error) error {
	lease, err := r.sessions[i].Lock(ctx)
	if err != nil {
		return fmt.Errorf("worker %d: Lock: %w", i, err)
	}
	entered := time.Now()
	err = stay(lease)
	if lost := lease.Err(); err == nil && lost != nil {
		err = fmt.Errorf("worker %d lost the lock after holding it for %v: %w", i, time.Since(entered), lost)
	}
	return errors.Join(err, r.unlock(lease))
}

// linger passes time inside: mostly none, sometimes 2 ms, so that others request a held lock.
func linger(uses uint64) {
	if uses%4 == 3 {
		time.Sleep(2 * time.Millisecond)
	}
}

func livenessRemote(ctx context.Context, s Subject) error {
	return eachCrowd(ctx, s, func(r *fixture, lim limits) error {
		lim = limits{uses: 10, patience: lim.patience}
		_, err := drive(ctx, len(r.sessions), lim, func(ctx context.Context, i int) error {
			return r.visit(ctx, i, func(harness.Lease) error {
				time.Sleep(time.Millisecond) // so that waiters queue up
				return nil
			})
		})
		return err
	})
}

func exclusionRemote(ctx context.Context, s Subject) error {
	return eachCrowd(ctx, s, func(r *fixture, lim limits) error {
		var in inside
		var uses atomic.Uint64
		_, err := drive(ctx, len(r.sessions), lim, func(ctx context.Context, i int) error {
			return r.visit(ctx, i, func(harness.Lease) error {
				return in.visit(i, func() { linger(uses.Add(1)) })
			})
		})
		return err
	})
}

func lostUpdateRemote(ctx context.Context, s Subject) error {
	return eachCrowd(ctx, s, func(r *fixture, lim limits) error {
		var n uint64 // plain memory, guarded only by the lock
		uses, err := drive(ctx, len(r.sessions), lim, func(ctx context.Context, i int) error {
			return r.visit(ctx, i, func(harness.Lease) error {
				seen := n
				linger(seen)
				n = seen + 1
				return nil
			})
		})
		if err != nil {
			return err
		}
		return compare(n, uses)
	})
}

func reuseRemote(ctx context.Context, s Subject) error {
	return inFixture(ctx, s, func(r *fixture) error {
		if err := r.fill(r.atMost(3), 2); err != nil {
			return err
		}
		for range 3 {
			for _, i := range []int{0, 0, 1, 2, 1} {
				if err := r.acquireRelease(min(i, len(r.sessions)-1)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func fifoRemote(ctx context.Context, s Subject) error {
	for _, c := range []crowd{{queue, 1}, {throngs, perClient}} {
		// The last of the trials has gaps 16 times as long: longer than a busy
		// machine keeps a process from running.
		gap := max(140*time.Millisecond/time.Duration(c.workers), 14*time.Millisecond)
		err := inFixture(ctx, s, func(r *fixture) error {
			if err := r.fill(r.atMost(c.workers), c.per); err != nil {
				return err
			}
			return inOrder(ctx, s, len(r.sessions), gap, func(ctx context.Context, i int, visit func()) error {
				return r.visit(ctx, i, func(harness.Lease) error { visit(); return nil })
			})
		})
		if err != nil {
			return fmt.Errorf("%v: %w", c, err)
		}
	}
	return nil
}

func fencingRemote(ctx context.Context, s Subject) error {
	if err := writersFencing(ctx, s); err != nil || !s.Variant.Traits.ReadWrite {
		return err
	}
	return remoteReaders(readFencing)(ctx, s)
}

// writersFencing has waiters that give up, and rounds with an empty queue: another path.
func writersFencing(ctx context.Context, s Subject) error {
	return inFixture(ctx, s, func(r *fixture) error {
		if err := r.fill(r.atMost(4), 2); err != nil {
			return err
		}
		var last, holder = uint64(0), -1 // guarded by the lock
		rise := func(i int, token uint64) error {
			if token <= last {
				return fmt.Errorf("worker %d holds token %d after worker %d held %d", i, token, holder, last)
			}
			last, holder = token, i
			return nil
		}
		for range 5 {
			lim := limits{uses: 6, patience: s.patience()}
			_, err := drive(ctx, len(r.sessions), lim, func(ctx context.Context, i int) error {
				return r.fencedHold(ctx, i, rise)
			})
			if err != nil {
				return err
			}
			if err := r.visit(ctx, 0, func(l harness.Lease) error { return rise(0, l.Token()) }); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *fixture) fencedHold(ctx context.Context, i int, rise func(int, uint64) error) error {
	stay := func(l harness.Lease) error {
		time.Sleep(time.Millisecond)
		return rise(i, l.Token())
	}
	short, cancel := context.WithTimeout(ctx, time.Duration(1+i)*2*time.Millisecond)
	defer cancel()
	err := r.visit(short, i, stay)
	if errors.Is(err, context.DeadlineExceeded) {
		err = r.visit(ctx, i, stay)
	}
	return err
}
