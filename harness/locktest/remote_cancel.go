package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/harness"
)

func cancelRemote(ctx context.Context, s Subject) error {
	return inCompany(ctx, s, func(r *fixture) error {
		for _, step := range []struct {
			name string
			run  func(*fixture) error
		}{
			{"context ended before Lock", cancelledBefore},
			{"deadline while waiting", giveUpAtDeadline},
			{"cancelled in the middle of the queue", cancelledInQueue},
			{"cancelled while the lock is released", cancelledAtRelease},
		} {
			if err := step.run(r); err != nil {
				return fmt.Errorf("%s: %w", step.name, err)
			}
			for _, i := range []int{2, 1, 0} {
				if err := r.acquireRelease(i); err != nil {
					return fmt.Errorf("%s: afterwards: %w", step.name, err)
				}
			}
		}
		return nil
	})
}

type grant struct {
	lease harness.Lease
	err   error
}

// wait starts Lock as worker i in a goroutine; the caller must end ctx or release the lock.
func (r *fixture) wait(ctx context.Context, i int) <-chan grant {
	got := make(chan grant, 1)
	go func() {
		lease, err := r.sessions[i].Lock(ctx)
		got <- grant{lease, err}
	}()
	return got
}

func (r *fixture) answer(got <-chan grant) (grant, error) {
	select {
	case g := <-got:
		return g, nil
	case <-time.After(r.s.patience()):
		return grant{}, fmt.Errorf("waits on: Lock has not returned %v after its context ended", r.s.patience())
	}
}

func (r *fixture) gaveUp(ctx context.Context, got <-chan grant) error {
	g, err := r.answer(got)
	switch {
	case err != nil:
		return err
	case g.err == nil:
		return errors.Join(fmt.Errorf("took the lock under a context that has ended"), r.unlock(g.lease))
	case !errors.Is(g.err, ctx.Err()):
		return fmt.Errorf("gave up with %w, for which errors.Is(err, ctx.Err()) is false: the context's error is %q", g.err, ctx.Err())
	}
	return nil
}

func cancelledBefore(r *fixture) error {
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	return r.gaveUp(ctx, r.wait(ctx, 0))
}

func giveUpAtDeadline(r *fixture) error {
	lease, err := r.lock(0)
	if err != nil {
		return err
	}
	for _, i := range []int{1, 2} { // of the holder's client, and of another
		ctx, cancel := context.WithTimeout(r.ctx, soon/4)
		got := r.wait(ctx, i)
		<-ctx.Done()
		err = errors.Join(err, r.gaveUp(ctx, got))
		cancel()
	}
	return errors.Join(err, r.unlock(lease))
}

func cancelledInQueue(r *fixture) error {
	lease, err := r.lock(0)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	middle := r.wait(ctx, 1)
	time.Sleep(soon / 4)
	patient, done := context.WithTimeout(r.ctx, r.s.patience())
	defer done()
	last := r.wait(patient, 2)
	time.Sleep(soon / 4)
	cancel()
	err = r.gaveUp(ctx, middle)
	if err = errors.Join(err, r.unlock(lease)); err != nil {
		return err
	}
	g := <-last
	if g.err != nil {
		return fmt.Errorf("the waiter behind the one that gave up does not get the lock: %w", g.err)
	}
	return r.unlock(g.lease)
}

func cancelledAtRelease(r *fixture) error {
	for k := range 10 {
		lease, err := r.lock(0)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(r.ctx)
		i := 1 + k/2%2 // of the holder's client, or of another
		got := r.wait(ctx, i)
		time.Sleep(time.Duration(k) * 2 * time.Millisecond)
		if k%2 == 0 {
			cancel() // the waiter has not noticed yet when the lock is released
		} else {
			go cancel()
		}
		if err := r.unlock(lease); err != nil {
			return err
		}
		g, err := r.answer(got)
		switch {
		case err != nil:
			return err
		case g.err == nil: // the grant came first: correct
			err = r.unlock(g.lease)
		case !errors.Is(g.err, context.Canceled):
			err = fmt.Errorf("gave up with %w, not the context's error", g.err)
		}
		if err != nil {
			return err
		}
		if err := r.acquireRelease(3 - i); err != nil {
			return fmt.Errorf("in round %d: %w", k, err)
		}
	}
	return nil
}
