package locktest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"locklab/harness"
)

// A remote acquisition takes milliseconds, so these checks use hundreds instead of 10^5. Not
// covered are counters of more than eight bits, and faults rarer than one in a hundred.
const (
	throngs      = 20 // simultaneous waiters
	throngRounds = 3
	perClient    = 7 // workers of each client
)

// crowdRemote makes more workers wait than a lock may have been designed for: they ask
// while it is held, and no worker asks twice before all have had it.
func crowdRemote(ctx context.Context, s Subject) error {
	n := atMost(s.Variant, throngs)
	if n < 2 {
		return NotApplicable("no queue to speak of: the lock serves one worker")
	}
	return inFixture(ctx, s, func(r *fixture) error {
		if err := r.fill(n, perClient); err != nil {
			return err
		}
		for range throngRounds {
			if err := r.gather(soon/4, false); err != nil {
				return err
			}
		}
		if _, rw := r.sessions[0].(harness.RWSession); rw && s.Variant.Traits.ReadWrite {
			for range throngRounds {
				if err := r.gather(soon/4, true); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (r *fixture) gather(hold time.Duration, readers bool) error {
	order := rand.Perm(len(r.sessions))
	var a rwInside
	held := make(chan struct{})
	_, err := drive(r.ctx, len(order), limits{uses: 1, patience: r.s.patience() + hold}, func(ctx context.Context, i int) error {
		p := order[i]
		m := mode(readers && p%3 != 0)
		if p > 0 {
			if err := await(ctx, held); err != nil {
				return err
			}
		}
		lease, err := r.enter(ctx, i, m)
		if err != nil {
			return fmt.Errorf("worker %d: %v: %w", i, m, err)
		}
		stay := func() {
			if p == 0 {
				close(held)
				time.Sleep(hold)
			}
		}
		visit := a.write
		if m == reading {
			visit = a.read
		}
		return errors.Join(visit(i, stay), r.leave(lease))
	})
	return err
}

func (r *fixture) leave(l harness.Lease) error {
	return errors.Join(alive(l), r.unlock(l), r.ended(l))
}

// wakeUpRemote makes one waiter, and then three of several clients, wait for a long time,
// with no other worker that could make up for a lost message.
func wakeUpRemote(ctx context.Context, s Subject) error {
	n := atMost(s.Variant, 4)
	if n < 2 {
		return NotApplicable("no queue to speak of: the lock serves one worker")
	}
	return atOnce([]int{2, n}, func(n int) error {
		return inFixture(ctx, s, func(r *fixture) error {
			if err := r.fill(n, 2); err != nil {
				return err
			}
			end := time.Now().Add(s.stress())
			for k := 0; k < 20 || k < 100 && time.Now().Before(end); k++ {
				if err := r.gather(time.Duration(k%8)*time.Millisecond, false); err != nil {
					return err
				}
			}
			return r.gather(2*soon, false)
		})
	})
}

func enduranceRemote(ctx context.Context, s Subject) error {
	return inFixture(ctx, s, func(r *fixture) error {
		if err := r.fill(r.atMost(3), 2); err != nil {
			return err
		}
		var last uint64
		end := time.Now().Add(2 * s.stress())
		for k := range longRemoteLife {
			lease, err := r.lock(k * 7 / 5 % len(r.sessions))
			if err != nil {
				return fmt.Errorf("after %d acquisitions: %w", k, err)
			}
			token := lease.Token()
			if err := r.leave(lease); err != nil {
				return fmt.Errorf("after %d acquisitions: %w", k, err)
			}
			if s.Variant.Traits.Fenced && token <= last {
				return fmt.Errorf("after %d acquisitions: token %d comes after %d", k, token, last)
			}
			last = token
			if k > 30 && time.Now().After(end) {
				break
			}
		}
		return r.gatherIfMany()
	})
}

// longRemoteLife is the acquisitions of a remote lock: more than a counter of eight bits.
const longRemoteLife = 300

func (r *fixture) gatherIfMany() error {
	if len(r.sessions) < 2 {
		return nil
	}
	return r.gather(soon/8, false)
}

func starvationRemote(ctx context.Context, s Subject) error {
	n := atMost(s.Variant, 5)
	return inFixture(ctx, s, func(r *fixture) error {
		if err := r.fill(n, 2); err != nil {
			return err
		}
		uses := make([]atomic.Uint64, n)
		var all, fed atomic.Uint64
		_, err := drive(ctx, n, limits{patience: s.patience()}, func(ctx context.Context, i int) error {
			err := r.visit(ctx, i, func(harness.Lease) error { time.Sleep(time.Millisecond); return nil })
			if err != nil {
				return err
			}
			if uses[i].Add(1) == fairRemoteHolds && fed.Add(1) == uint64(n) {
				return errOver
			}
			if all.Add(1) < unfairRemoteHolds*uint64(n) {
				return nil
			}
			for j := range uses {
				if k := uses[j].Load(); k < fairRemoteHolds {
					return fmt.Errorf("worker %d has had the lock %d times, and all together %d times", j, k, all.Load())
				}
			}
			return nil
		})
		if errors.Is(err, errOver) {
			return nil
		}
		return err
	})
}

// Each worker needs fairRemoteHolds before the average is above unfairRemoteHolds.
const (
	fairRemoteHolds   = 4
	unfairRemoteHolds = 40
)

func readCountRemote(ctx context.Context, s Subject) error {
	n := atMost(s.Variant, throngs)
	if n < 2 {
		return NotApplicable("no writer to keep out: the lock serves one worker")
	}
	return inFixture(ctx, s, func(r *fixture) error {
		if err := r.fill(n, perClient); err != nil {
			return err
		}
		for _, k := range []int{1, 2, 3, 4, 5, 8, 9, 16, 17, n - 1} {
			if k > n-1 {
				continue
			}
			if err := r.writerBehind(k); err != nil {
				return fmt.Errorf("%d readers: %w", k, err)
			}
		}
		return nil
	})
}

func (r *fixture) writerBehind(readers int) error {
	leases := make([]harness.Lease, readers)
	for k := range leases {
		lease, err := r.get(k, reading)
		if err != nil {
			return err
		}
		leases[k] = lease
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
	var errs []error
	for k, lease := range leases {
		if k == readers-1 {
			time.Sleep(soon / 8) // a broken lock may admit the writer too early
		}
		inside.Add(-1)
		errs = append(errs, r.leave(lease))
	}
	n, g := <-seen, <-got
	if g.err != nil {
		return errors.Join(append(errs, fmt.Errorf("all readers have left, and the writer does not get the lock: %w", g.err))...)
	}
	if n > 0 {
		errs = append(errs, fmt.Errorf("a writer got the lock while %d of them were inside", n))
	}
	return errors.Join(append(errs, r.leave(g.lease))...)
}

// cancelManyRemote makes waiters give up, some at their grant. All permits must remain.
func cancelManyRemote(ctx context.Context, s Subject) error {
	permits := max(1, s.Variant.Traits.Permits)
	n := atMost(s.Variant, 12)
	if most := s.Variant.Traits.MaxWorkers; n < 3 || most > 0 && most < permits+n {
		return NotApplicable("too few to give up")
	}
	return inFixtureWithout(ctx, s, 0, func(r *fixture) error {
		if err := r.fill(permits+n, perClient); err != nil {
			return err
		}
		end := time.Now().Add(s.stress())
		for gaveUp, k := 0, 0; gaveUp < manyGiveUp || k < 4; k++ {
			left, err := r.giveUpTogether(permits, k)
			if err != nil {
				return fmt.Errorf("after %d waits had been given up: %w", gaveUp, err)
			}
			if gaveUp += left; gaveUp >= someGiveUp && k >= 4 && time.Now().After(end) {
				break
			}
		}
		if err := r.countPermits(permits); err != nil || permits > 1 {
			return err
		}
		return r.gather(soon/8, false)
	})
}

// The abandoned waits, if the stress time allows, and at least.
const (
	manyGiveUp = 300
	someGiveUp = 64
)

// giveUpTogether makes all other workers wait for taken permits and give up, in every
// second round while the permits are released. It returns the number that gave up.
func (r *fixture) giveUpTogether(permits, round int) (int, error) {
	var leases []harness.Lease
	for i := range permits {
		lease, err := r.lock(i)
		if err != nil {
			return 0, fmt.Errorf("%d permits are taken: %w", i, err)
		}
		leases = append(leases, lease)
	}
	racing := round%2 == 1
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	waits := make([]<-chan grant, 0, len(r.sessions))
	for i := permits; i < len(r.sessions); i++ {
		waits = append(waits, r.wait(ctx, i))
	}
	time.Sleep(time.Duration(5+5*(round%4)) * time.Millisecond)
	var err error
	release := func() {
		for _, l := range leases {
			err = errors.Join(err, r.unlock(l))
		}
	}
	if racing {
		time.AfterFunc(time.Duration(rand.Int64N(int64(4*time.Millisecond))), cancel)
		release()
	} else {
		cancel()
	}
	left := 0
	for _, w := range waits {
		switch g, late := r.answer(w); {
		case late != nil:
			return 0, late
		case g.err == nil && !racing:
			err = errors.Join(err, errors.New("a waiter that gave up got a lock that was held"), r.unlock(g.lease))
		case g.err == nil:
			err = errors.Join(err, r.unlock(g.lease))
		case !errors.Is(g.err, context.Canceled):
			err = errors.Join(err, fmt.Errorf("gave up with %w, not the context's error", g.err))
		default:
			left++
		}
	}
	if !racing {
		release()
	}
	return left, err
}
