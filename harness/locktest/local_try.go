package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"locklab/harness"
)

func tryLocal(ctx context.Context, s Subject) error {
	n := atMost(s.Variant, 2)
	if _, ok := (shape{workers: n}).all(s.Variant, n)[0].(harness.TryLocker); !ok {
		return NotApplicable("the lock has no TryLock")
	}
	err := eachShape(ctx, s, func(ctx context.Context, r *rig) error {
		return alone(ctx, s, isFree, func() error { return trySteps(r.hs) })
	})
	if err == nil {
		err = tryOften(ctx, s)
	}
	if err != nil {
		return err
	}
	return eachRound(ctx, s, tryContended)
}

func trySteps(hs []sync.Locker) error {
	a, b := hs[0], hs[len(hs)-1]
	tryA, tryB := a.(harness.TryLocker), b.(harness.TryLocker)
	two := len(hs) > 1 // without handles all workers have the same lock
	for range 3 {
		if !tryA.TryLock() {
			return errors.New("TryLock refused a free lock")
		}
		if two && tryB.TryLock() {
			return errors.New("TryLock took a lock that TryLock had taken")
		}
		a.Unlock()
		b.Lock()
		if two && tryA.TryLock() {
			return errors.New("TryLock took a lock that Lock had taken")
		}
		b.Unlock()
	}
	return nil
}

func tryContended(ctx context.Context, r *rig) error {
	var in inside
	_, err := r.drive(ctx, func(i int) error {
		if i%2 == 0 || !r.hs[i].(harness.TryLocker).TryLock() {
			r.hs[i].Lock()
		}
		err := in.visit(i, func() { r.p.hold(i) })
		r.hs[i].Unlock()
		r.p.think(i)
		return err
	})
	return err
}

// often is the number of tries, enough to find a fault in one of 10,000.
const often = 100_000

// tryOften tries a lock that is held by Lock, by TryLock and by a reader, with and
// without waiters, and a free one. Afterwards the lock must still work.
func tryOften(ctx context.Context, s Subject) error {
	sh := shape{workers: atMost(s.Variant, 5)}
	hs, err := sh.handles(ctx, s)
	if err != nil {
		return err
	}
	if sh.workers > 1 {
		err = tryHeldOften(ctx, s, hs)
	}
	if err == nil {
		err = tryFreeOften(ctx, s, hs)
	}
	if err == nil {
		err = checkAged(ctx, s, hs)
	}
	if err != nil {
		return fmt.Errorf("%v: %w", sh, err)
	}
	return nil
}

func tryHeldOften(ctx context.Context, s Subject, hs []sync.Locker) error {
	holder, try := hs[0], hs[1].(harness.TryLocker)
	holds := []struct{ take, leave func() }{
		{holder.Lock, holder.Unlock},
		{func() { holder.(harness.TryLocker).TryLock() }, holder.Unlock},
	}
	if rw, ok := holder.(harness.RWLocker); ok && s.Variant.Traits.ReadWrite {
		holds = append(holds, struct{ take, leave func() }{rw.RLock, rw.RUnlock})
	}
	for _, hold := range holds {
		err := alone(ctx, s, "a free lock does not open, or TryLock waits for a held one,", func() error {
			hold.take()
			defer hold.leave()
			return keptOutOften(try)
		})
		if err == nil {
			err = tryAmongWaiters(ctx, s, hs, hold.take, hold.leave)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func keptOutOften(try harness.TryLocker) error {
	for k := range often {
		if try.TryLock() {
			return fmt.Errorf("TryLock took a held lock when it was tried for the %dth time", k+1)
		}
	}
	return nil
}

func tryAmongWaiters(ctx context.Context, s Subject, hs []sync.Locker, take, leave func()) error {
	var in inside
	held, asked := make(chan struct{}), make(chan struct{}, len(hs))
	_, err := drive(ctx, len(hs), limits{uses: 1, patience: s.patience()}, func(ctx context.Context, i int) error {
		switch i {
		case 0:
			take()
			close(held)
			defer leave()
			for range len(hs) - 1 {
				if err := await(ctx, asked); err != nil {
					return err
				}
			}
			return nil
		case 1:
			if err := await(ctx, held); err != nil {
				return err
			}
			err := keptOutOften(hs[1].(harness.TryLocker))
			asked <- struct{}{}
			return err
		}
		if err := await(ctx, held); err != nil {
			return err
		}
		asked <- struct{}{}
		hs[i].Lock()
		defer hs[i].Unlock()
		return in.visit(i, func() {})
	})
	return err
}

func tryFreeOften(ctx context.Context, s Subject, hs []sync.Locker) error {
	return alone(ctx, s, isFree, func() error {
		for k := range often {
			h := hs[k%len(hs)]
			if !h.(harness.TryLocker).TryLock() {
				return fmt.Errorf("TryLock refused a free lock when it was tried for the %dth time", k+1)
			}
			h.Unlock()
		}
		return nil
	})
}
