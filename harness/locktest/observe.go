package locktest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// inside is a word that says who is in the critical section. The lock under
// test should make it pointless.
type inside struct {
	owner atomic.Int32 // worker + 1; 0 is nobody
	_     [128]byte
}

// visit enters as worker i, does what stay does, and leaves.
func (in *inside) visit(i int, stay func()) error {
	me := int32(i) + 1
	if other := in.owner.Swap(me); other != 0 {
		return fmt.Errorf("worker %d got the lock while worker %d was inside", i, other-1)
	}
	stay()
	if other := in.owner.Load(); other != me {
		return fmt.Errorf("worker %d had the lock, and meanwhile worker %d was inside", i, other-1)
	}
	in.owner.Store(0)
	return nil
}

// A pace says how long workers stay in the critical section and out of it.
type pace struct {
	thinks  bool
	workers []paceState
}

type paceState struct {
	turn uint32
	rand uint32
	_    [120]byte
}

func newPace(workers int, thinks bool) *pace {
	p := &pace{thinks: thinks, workers: make([]paceState, workers)}
	for i := range p.workers {
		p.workers[i].rand = rand.Uint32()
	}
	return p
}

// hold passes time inside: mostly none, so that turns are many, often a few
// steps, and now and then a yield, so that the holder is not running.
func (p *pace) hold(i int) {
	w := &p.workers[i]
	w.turn++
	switch {
	case w.turn%64 == 0:
		runtime.Gosched()
		runtime.Gosched()
	case w.turn%4 == 0:
		w.steps(128)
	}
}

// think passes time outside: none, or a few steps.
func (p *pace) think(i int) {
	if p.thinks {
		p.workers[i].steps(128)
	}
}

// steps passes the time of a random number of steps below n.
func (w *paceState) steps(n uint32) {
	w.rand = w.rand*1664525 + 1013904223
	for range w.rand >> 16 % n {
	}
}

// compare checks a guarded counter against the turns that incremented it.
func compare(n uint64, turns []uint64) error {
	var want uint64
	for _, k := range turns {
		want += k
	}
	if n != want {
		return fmt.Errorf("%d turns incremented the guarded counter to %d: %d updates lost", want, n, int64(want-n))
	}
	return nil
}

// The FIFO check.
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
