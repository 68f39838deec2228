//go:build systematic

package mutex

import "locklab/atomics"

// A futexQueue does what the kernel does for a futex, in words and parkers, so
// that the explorer can see it: to compare the word and to join the queue is one
// step for those who wake, since both sides hold the queue's lock. Here nobody
// wakes up for no reason, and the order is that of arrival.
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

// wait sleeps while the word has the given value.
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

// wake wakes up to n of those who sleep on the word.
func (q *futexQueue) wake(_ *atomics.Uint32, n int) {
	q.lock()
	n = min(n, len(q.asleep))
	woken := q.asleep[:n]
	q.asleep = q.asleep[n:]
	q.unlock()
	for _, p := range woken {
		p.Unpark()
	}
}
