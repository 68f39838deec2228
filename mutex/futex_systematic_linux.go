//go:build systematic

package mutex

import (
	"slices"

	"locklab/atomics"
)

// A futexQueue does what the kernel does for a futex, in words and parkers, so
// that the explorer can see it: to compare the word and to join the queue is one
// step for one that wakes, since both sides hold the queue's lock. Here none
// wakes up for no reason, and the order is that of arrival.
type futexQueue struct {
	held   atomics.Uint32
	asleep []*atomics.Parker // guarded by held
	idle   []*atomics.Parker // for the next to sleep; guarded by held
}

func (q *futexQueue) lock() {
	for !q.held.CompareAndSwap(0, 1) {
		atomics.SpinHint(1)
	}
}

func (q *futexQueue) unlock() { q.held.Store(0) }

// wait sleeps while the word has the given value.
func (q *futexQueue) wait(word *atomics.Uint32, value uint32) {
	q.lock()
	if word.Load() != value {
		q.unlock()
		return
	}
	if len(q.idle) == 0 {
		q.idle = append(q.idle, atomics.NewParker())
	}
	last := len(q.idle) - 1
	p := q.idle[last]
	q.idle = q.idle[:last]
	q.asleep = append(q.asleep, p)
	q.unlock()
	p.Park()
	q.lock()
	q.idle = append(q.idle, p)
	q.unlock()
}

// wake wakes up to n of the sleepers on the word.
func (q *futexQueue) wake(_ *atomics.Uint32, n int) {
	for range n {
		q.lock()
		if len(q.asleep) == 0 {
			q.unlock()
			return
		}
		p := q.asleep[0]
		q.asleep = slices.Delete(q.asleep, 0, 1)
		q.unlock()
		p.Unpark()
	}
}
