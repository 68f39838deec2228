//go:build systematic

package mutex

import (
	"slices"

	"locklab/atomics"
)

// A futexQueue models the futex of the kernel with words and parkers, for the explorer. To
// compare the word and to enter the queue are one step for a goroutine that wakes, under the
// queue's lock. Sleepers wake in order of arrival, and never for no reason.
type futexQueue struct {
	held   atomics.Uint32
	asleep []*atomics.Parker // guarded by held
}

func (q *futexQueue) lock() {
	for !q.held.CompareAndSwap(0, 1) {
		atomics.SpinHint(1)
	}
}

func (q *futexQueue) unlock() { q.held.Store(0) }

func (q *futexQueue) wait(word *atomics.Uint32, value uint32) {
	q.lock()
	if word.Load() != value {
		q.unlock()
		return
	}
	p := atomics.NewParker()
	q.asleep = append(q.asleep, p)
	q.unlock()
	p.Park()
}

func (q *futexQueue) wake(*atomics.Uint32) {
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
