package locktest

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"locklab/harness"
)

// The check of the order of arrival.
const (
	queue  = 7 // workers: the holder and six who queue up
	trials = 5 // a lock without order passes all by luck once in 7!/5 = 1008 times
)

// inOrder checks that a lock serves in order of arrival. Worker 0 takes the
// lock, the others arrive one by one, then worker 0 releases it and comes back
// at once, which makes it the last. Nobody can see from outside when a waiter
// has arrived, so arrivals are spaced by time, and the lock has several trials
// with ever longer gaps; a FIFO lock passes one of them.
//
// turn takes the lock as worker i, calls visit inside, and releases it.
func inOrder(ctx context.Context, s Subject, n int, gap time.Duration, turn func(ctx context.Context, i int, visit func()) error) error {
	if n < 3 {
		return NotApplicable(fmt.Sprintf("no queue to speak of: the lock serves at most %d workers", n))
	}
	var got []int
	for range trials {
		var err error
		if got, err = arrivals(ctx, s, n, gap, turn); err != nil {
			return err
		}
		if slices.IsSortedFunc(got, func(a, b int) int { return (a+n-1)%n - (b+n-1)%n }) {
			return nil
		}
		gap *= 2
	}
	return fmt.Errorf("workers 1 to %d arrived in this order and worker 0 last, but were served in the order %v, and out of order in all of %d trials", n-1, got, trials)
}

// arrivals returns the order of service of one trial.
func arrivals(ctx context.Context, s Subject, n int, gap time.Duration, turn func(context.Context, int, func()) error) ([]int, error) {
	var got []int // guarded by the lock
	arrive := make([]chan struct{}, n)
	for i := range arrive {
		arrive[i] = make(chan struct{})
	}
	_, err := drive(ctx, n, limits{turns: 1, patience: s.patience() + time.Duration(n)*gap}, func(ctx context.Context, i int) error {
		if i > 0 {
			select {
			case <-arrive[i]:
			case <-ctx.Done():
				return ctx.Err()
			}
			return turn(ctx, i, func() { got = append(got, i) })
		}
		err := turn(ctx, 0, func() {
			for _, next := range arrive[1:] {
				close(next)
				time.Sleep(gap)
			}
		})
		if err != nil {
			return err
		}
		return turn(ctx, 0, func() { got = append(got, 0) })
	})
	return got, err
}

// fifoLocal leaves out busy waiters, which would keep those who are to arrive
// after them from running.
func fifoLocal(ctx context.Context, s Subject) error {
	waits := []harness.WaitPolicy{harness.WaitAdaptive}
	if s.Variant.Family == harness.Spin {
		waits = append(waits, harness.WaitPause, harness.WaitYield, harness.WaitPark)
	}
	for _, wait := range waits {
		sh := shape{workers: atMost(s.Variant, queue), wait: wait}
		hs, err := sh.handles(ctx, s)
		if err == nil {
			err = inOrder(ctx, s, len(hs), 2*time.Millisecond, func(_ context.Context, i int, visit func()) error {
				hs[i].Lock()
				visit()
				hs[i].Unlock()
				return nil
			})
		}
		if err != nil {
			return fmt.Errorf("%v: %w", sh, err)
		}
	}
	return overtaking(ctx, s)
}

// The check of bypass under contention.
const (
	crowded = 4 // workers: enough for a queue, few enough that it is short

	// enoughRounds is how many rounds with enoughWaits each a verdict needs, of
	// waits with everybody else ahead. Several, since workers may fall into a
	// step in which nobody notices who is overtaken. Where the rounds do not
	// come within the stress time, since the workers hardly meet, the verdict
	// is that nothing was seen.
	enoughRounds = 4
	enoughWaits  = 500

	// tolerated is the share of waits in which more turns may go by than there
	// are workers to be ahead. A worker says that it asks, and may be preempted
	// before it is in line. On two processors with ten runnable threads, locks
	// that serve in order showed up to 0.01 %, and those that do not 45 % or more.
	tolerated = 0.01
)

// A waitingRoom counts how many turns go by while a worker waits.
type waitingRoom struct {
	workers    uint64
	doorway    uint64        // turns that may also go by while it is not yet in line
	served     atomic.Uint64 // turns granted
	waits, bad atomic.Uint64 // waits with everybody else ahead, and those with more
	worst      atomic.Uint64
}

// granted records a wait, for the new holder who asked when so many had been
// served.
func (w *waitingRoom) granted(asked uint64) {
	ahead := w.served.Add(1) - 1 - asked
	if ahead+1 < w.workers {
		return // fewer than there are: nobody went twice for sure
	}
	w.waits.Add(1)
	if ahead < w.workers+w.doorway {
		return // each of the others once, and who slipped in by the doorway
	}
	w.bad.Add(1)
	w.worst.Store(max(w.worst.Load(), ahead)) // the holder is alone
}

// fill lets workers take turns.
func (w *waitingRoom) fill(ctx context.Context, r *rig) error {
	_, err := r.drive(ctx, func(i int) error {
		asked := w.served.Load()
		r.hs[i].Lock()
		w.granted(asked)
		r.p.hold(i)
		r.hs[i].Unlock()
		r.p.think(i)
		return nil
	})
	return err
}

// overtaking drives the lock hard and checks that nobody is overtaken: from the
// moment a worker asks, each of the others goes ahead of it at most once. Where
// asking takes several steps, one more turn may go by during these.
func overtaking(ctx context.Context, s Subject) error {
	sh := shape{workers: atMost(s.Variant, crowded)}
	most := sh.workers - 1
	if s.Variant.Traits.Doorway {
		most++
	}
	end := time.Now().Add(s.stress())
	for round, enough := 0, 0; enough < enoughRounds && time.Now().Before(end); round++ {
		room := &waitingRoom{workers: uint64(sh.workers), doorway: uint64(most - sh.workers + 1)}
		err := sh.once(ctx, s, limits{window: 10 * time.Millisecond}, round%2 == 1, room.fill)
		if err != nil {
			return err
		}
		waits, bad := room.waits.Load(), room.bad.Load()
		if waits < enoughWaits {
			continue
		}
		enough++
		if float64(bad) > tolerated*float64(waits) {
			return fmt.Errorf("%v: in %d of %d waits more than the %d turns went by that can have been ahead, up to %d: waiters are overtaken",
				sh, bad, waits, most, room.worst.Load())
		}
	}
	return nil
}
