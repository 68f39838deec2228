package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
)

func readCancelRemote(ctx context.Context, s Subject) error {
	return inCompany(ctx, s, func(r *fixture) error {
		for _, step := range []struct {
			name string
			run  func(*fixture) error
		}{
			{"context ended before RLock", readerGivesUpBefore},
			{"a reader gives up on a writer", func(r *fixture) error { return r.givesUp(writing, reading, reading) }},
			{"a reader gives up before a writer behind it", func(r *fixture) error { return r.givesUp(writing, reading, writing) }},
			{"a writer gives up on a reader", func(r *fixture) error { return r.givesUp(reading, writing, writing) }},
			{"a writer gives up before a reader behind it", gateOpens},
			{"a reader gives up while the writer leaves", readerGivesUpAtRelease},
		} {
			if err := step.run(r); err != nil {
				return fmt.Errorf("%s: %w", step.name, err)
			}
			if err := r.free(); err != nil {
				return fmt.Errorf("%s: afterwards: %w", step.name, err)
			}
		}
		return nil
	})
}

func (r *fixture) ask(ctx context.Context, i int, m mode) <-chan grant {
	got := make(chan grant, 1)
	go func() {
		lease, err := r.enter(ctx, i, m)
		got <- grant{lease, err}
	}()
	return got
}

func (r *fixture) granted(got <-chan grant) error {
	g := <-got
	if g.err != nil {
		return fmt.Errorf("the waiter behind the one that gave up does not get the lock: %w", g.err)
	}
	return r.unlock(g.lease)
}

func readerGivesUpBefore(r *fixture) error {
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	return r.gaveUp(ctx, r.ask(ctx, 0, reading))
}

func (r *fixture) givesUp(inside, middle, last mode) error {
	holder, err := r.get(0, inside)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	gone := r.ask(ctx, 1, middle)
	time.Sleep(soon / 4)
	patient, done := r.patient()
	defer done()
	behind := r.ask(patient, 2, last)
	time.Sleep(soon / 4)
	cancel()
	if err := errors.Join(r.gaveUp(ctx, gone), r.unlock(holder)); err != nil {
		return err
	}
	return r.granted(behind)
}

// gateOpens makes a reader wait behind a writer that gives up: only another reader is
// then inside, and it stays.
func gateOpens(r *fixture) error {
	holder, err := r.get(0, reading)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	writer := r.ask(ctx, 1, writing)
	time.Sleep(soon / 4)
	patient, done := r.patient()
	defer done()
	behind := r.ask(patient, 2, reading)
	time.Sleep(soon / 4)
	cancel()
	err = r.gaveUp(ctx, writer)
	if err == nil {
		err = r.granted(behind)
	}
	return errors.Join(err, r.unlock(holder))
}

func readerGivesUpAtRelease(r *fixture) error {
	for k := range 10 {
		holder, err := r.get(0, writing)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(r.ctx)
		got := r.ask(ctx, 1+k/2%2, reading)
		time.Sleep(time.Duration(k) * 2 * time.Millisecond)
		if k%2 == 0 {
			cancel() // the reader has not noticed yet when the lock is released
		} else {
			go cancel()
		}
		if err := r.unlock(holder); err != nil {
			return err
		}
		g, err := r.answer(got)
		switch {
		case err != nil:
		case g.err == nil: // the grant came first: correct
			err = r.unlock(g.lease)
		case !errors.Is(g.err, context.Canceled):
			err = fmt.Errorf("gave up with %w, not the context's error", g.err)
		}
		if err != nil {
			return err
		}
		writer, err := r.get(2-k/2%2, writing)
		if err != nil {
			return fmt.Errorf("in round %d: %w", k, err)
		}
		if err := r.unlock(writer); err != nil {
			return err
		}
	}
	return nil
}

func readLeaseRemote(ctx context.Context, s Subject) error {
	return inCompany(ctx, s, func(r *fixture) error {
		first, err := r.get(0, reading)
		if err != nil {
			return err
		}
		second, err := r.get(1, reading)
		if err != nil {
			return err
		}
		if err := alive(first); err != nil {
			return err
		}
		over, cancel := context.WithCancel(ctx)
		cancel()
		if err := first.Unlock(over); err != nil {
			return fmt.Errorf("a reader's Unlock under a context that has ended: %w", err)
		}
		if err := r.ended(first); err != nil {
			return err
		}
		if err := r.refused(first, "a reader's released lease while another reads"); err != nil {
			return err
		}
		if err := alive(second); err != nil {
			return fmt.Errorf("after another reader's Unlock: %w", err)
		}
		if err := r.keptOut(2, writing); err != nil {
			return fmt.Errorf("a reader is inside, after another's second Unlock: %w", err)
		}
		if err := r.unlock(second); err != nil {
			return err
		}
		return r.staleReader(first)
	})
}

func (r *fixture) staleReader(stale harness.Lease) error {
	for _, i := range []int{2, 0} { // of another client, and the same worker
		writer, err := r.get(i, writing)
		if err != nil {
			return err
		}
		if err := r.refused(stale, "a reader's released lease while a writer holds the lock"); err != nil {
			return err
		}
		if err := r.keptOut(1, reading); err != nil {
			return fmt.Errorf("a writer is inside, after Unlock of a reader's stale lease: %w", err)
		}
		if err := r.unlock(writer); err != nil {
			return err
		}
	}
	return r.free()
}

func readFencing(ctx context.Context, s Subject) error {
	return eachCrowd(ctx, s, func(r *fixture, lim limits) error {
		holds, err := r.mixed(ctx, lim, time.Millisecond)
		if err != nil {
			return err
		}
		return violated(oracle.Tokens(holds, 1))
	})
}
