package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
)

func claimsRemote(ctx context.Context, s Subject) {
	inFixture(ctx, s, func(r *fixture) {
		r.fill(1, 1)
		_, reads := r.sessions[0].(harness.RWSession)
		switch claims := s.Variant.Traits.ReadWrite; {
		case claims && !reads:
			fail("the variant claims Traits.ReadWrite, but a %T is no harness.RWSession", r.sessions[0])
		case !claims && reads:
			fail("a %T has RLock, but the variant does not claim Traits.ReadWrite", r.sessions[0])
		}
	})
}

// ifReaders returns check for locks whose sessions have readers.
func ifReaders(check func(ctx context.Context, s Subject)) func(ctx context.Context, s Subject) {
	return func(ctx context.Context, s Subject) {
		inFixture(ctx, s, func(r *fixture) {
			r.fill(1, 1)
			if _, ok := r.sessions[0].(harness.RWSession); !ok {
				must(NotApplicable("the sessions are no RWSession, which another rule reports"))
			}
		})
		check(ctx, s)
	}
}

// readExclusionRemote tries steps without chance, then judges the times of contending workers.
func readExclusionRemote(ctx context.Context, s Subject) {
	if err := recovered(func() { inCompany(ctx, s, apart) }); err != nil && !isNotApplicable(err) {
		must(err)
	}
	eachGroup(ctx, s, func(r *fixture, lim limits) {
		violated(oracle.Overlaps(r.mixed(ctx, lim, 2*time.Millisecond), 1))
	})
}

func apart(r *fixture) {
	var second harness.Lease
	first := r.get(0, reading)
	within("beside another reader", func() { second = r.get(2, reading) })
	within("two readers are inside", func() { r.keptOut(1, writing) })
	r.unlock(first)
	within("one of two readers has left", func() { atOnce([]int{0, 1}, r.held) })
	r.unlock(second)
	var writer harness.Lease
	within("both readers have left", func() { writer = r.get(0, writing) })
	within("a writer is inside", func() { atOnce([]int{1, 2}, func(i int) { r.keptOut(i, reading) }) })
	r.unlock(writer)
	r.free()
}

// mixed makes workers write every fourth time, sometimes lingering, and returns all holds.
func (r *fixture) mixed(ctx context.Context, lim limits, linger time.Duration) []oracle.Hold {
	n := len(r.sessions)
	p, epoch := newPace(n, false), time.Now()
	logs := make([][]oracle.Hold, n)
	drive(ctx, n, lim, func(ctx context.Context, i int) {
		m := mode(p.reads(i))
		h := oracle.Hold{Worker: i, Shared: bool(m), Requested: int64(time.Since(epoch))}
		lease, err := r.enter(ctx, i, m)
		if err != nil {
			fail("worker %d: %v: %w", i, m, err)
		}
		h.Acquired, h.Token = int64(time.Since(epoch)), lease.Token()
		if len(logs[i])%4 == 3 {
			time.Sleep(linger)
		}
		h.Releasing = int64(time.Since(epoch))
		logs[i] = append(logs[i], h)
		r.unlock(lease)
	})
	holds := slices.Concat(logs...)
	oracle.Sort(holds)
	return holds
}

func violated(vs []harness.Violation) {
	if len(vs) > 0 {
		fail("%s (%d times)", vs[0].Detail, vs[0].Count)
	}
}

func readersShareRemote(ctx context.Context, s Subject) {
	n := atMost(s.Variant, 4)
	if n < 2 {
		must(NotApplicable("no other worker to share with: the lock serves one"))
	}
	inFixture(ctx, s, func(r *fixture) {
		r.fill(n, 2)
		for range 3 {
			var leases []harness.Lease
			for i := range n {
				within(fmt.Sprintf("%d readers are inside", i), func() { leases = append(leases, r.get(i, reading)) })
			}
			for _, lease := range leases {
				must(errors.Join(lease.Err(), r.release(lease)))
			}
		}
		r.free()
	})
}

func writerProgressRemote(ctx context.Context, s Subject) {
	n := writersReaders(s)
	inFixture(ctx, s, func(r *fixture) {
		r.fill(n, 2)
		var entries atomic.Uint64
		var over atomic.Bool
		lim := limits{uses: 1, patience: (throngWrites + 2) * s.patience()}
		drive(ctx, n, lim, func(ctx context.Context, i int) {
			if i == 0 {
				defer over.Store(true)
				r.writeAmong(ctx, &entries, uint64(n))
				return
			}
			for !over.Load() {
				lease, err := r.enter(ctx, i, reading)
				if err != nil {
					fail("worker %d: RLock: %w", i, err)
				}
				relay(&entries, &over, min(s.patience()/4, soon), aBit)
				r.unlock(lease)
			}
		})
	})
}

func aBit() { time.Sleep(100 * time.Microsecond) }

func (r *fixture) writeAmong(ctx context.Context, entries *atomic.Uint64, n uint64) {
	for range throngWrites {
		for seen := entries.Load(); entries.Load() < seen+n; aBit() {
			must(ctx.Err())
		}
		patient, cancel := context.WithTimeout(ctx, r.s.patience())
		lease, err := r.enter(patient, 0, writing)
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			fail("readers came and went without a gap, and a writer has waited for %v", r.s.patience())
		case err != nil:
			fail("the writer among readers: %w", err)
		}
		r.unlock(lease)
	}
}

func readCountRemote(ctx context.Context, s Subject) {
	n := atMost(s.Variant, throngs)
	if n < 2 {
		must(NotApplicable("no writer to keep out: the lock serves one worker"))
	}
	inFixture(ctx, s, func(r *fixture) {
		r.fill(n, perClient)
		for _, k := range []int{1, 2, 3, 4, 5, 8, 9, 16, 17, n - 1} {
			if k < n {
				within(fmt.Sprintf("%d readers", k), func() { r.writerBehind(k) })
			}
		}
	})
}

func (r *fixture) writerBehind(readers int) {
	leases := make([]harness.Lease, readers)
	for k := range leases {
		leases[k] = r.get(k, reading)
	}
	ctx, cancel := r.patient()
	defer cancel()
	var inside atomic.Int64
	inside.Store(int64(readers))
	got, seen := make(chan grant, 1), make(chan int64, 1)
	go func() {
		lease, err := r.enter(ctx, len(r.sessions)-1, writing)
		seen <- inside.Load()
		got <- grant{lease, err}
	}()
	time.Sleep(soon / 8)
	err := recovered(func() {
		for k, lease := range leases {
			if k == readers-1 {
				time.Sleep(soon / 8) // a broken lock may admit the writer too early
			}
			inside.Add(-1)
			r.leave(lease)
		}
	})
	n, g := <-seen, <-got
	switch {
	case g.err != nil:
		err = errors.Join(err, fmt.Errorf("all readers have left, and the writer does not get the lock: %w", g.err))
	case n > 0:
		err = errors.Join(err, fmt.Errorf("a writer got the lock while %d of them were inside", n), r.release(g.lease))
	default:
		r.leave(g.lease)
	}
	must(err)
}

func fencing(ctx context.Context, s Subject) {
	writersFencing(ctx, s)
	if s.Variant.Traits.ReadWrite {
		ifReaders(func(ctx context.Context, s Subject) {
			eachGroup(ctx, s, func(r *fixture, lim limits) {
				violated(oracle.Tokens(r.mixed(ctx, lim, time.Millisecond), 1))
			})
		})(ctx, s)
	}
}

// writersFencing has waiters that give up, and rounds with an empty queue: another path.
func writersFencing(ctx context.Context, s Subject) {
	inFixture(ctx, s, func(r *fixture) {
		r.fill(r.atMost(4), 2)
		var last, holder = uint64(0), -1 // guarded by the lock
		visit := func(ctx context.Context, i int) {
			r.visit(ctx, i, func(l harness.Lease) error {
				time.Sleep(time.Millisecond)
				if l.Token() <= last {
					return fmt.Errorf("worker %d holds token %d after worker %d held %d", i, l.Token(), holder, last)
				}
				last, holder = l.Token(), i
				return nil
			})
		}
		for range 5 {
			drive(ctx, len(r.sessions), limits{uses: 6, patience: s.patience()}, func(ctx context.Context, i int) {
				short, cancel := context.WithTimeout(ctx, time.Duration(1+i)*2*time.Millisecond)
				defer cancel()
				err := recovered(func() { visit(short, i) })
				if errors.Is(err, context.DeadlineExceeded) {
					visit(ctx, i)
					return
				}
				must(err)
			})
			visit(ctx, 0)
		}
	})
}
