//go:build !systematic

package mutex

import (
	"sync"
	"time"

	"locklab/atomics"
)

var mutexEpoch = time.Now()

func mutexNow() time.Duration { return time.Since(mutexEpoch) }

// bubbled reports whether the caller is in a bubble of testing/synctest: its clock, which may
// show any year, has no monotonic reading.
func bubbled() bool {
	now := time.Now()
	return now == now.Round(0)
}

// A waiter sleeps on a channel. A channel made in a bubble is for the goroutines of the bubble
// alone. So a waiter made there has none if it never gives up, and is not pooled if it may.
var (
	lockWaiters = sync.Pool{New: func() any {
		if bubbled() {
			return &mutexWaiter{parker: atomics.NewLockParker()}
		}
		return &mutexWaiter{parker: atomics.NewParker()}
	}}
	contextWaiters = sync.Pool{New: func() any { return &mutexWaiter{parker: atomics.NewParker()} }}
)

// newMutexWaiter returns a waiter that can give up when done is closed.
func newMutexWaiter(done <-chan struct{}) *mutexWaiter {
	pool := &lockWaiters
	if done != nil {
		if bubbled() {
			return &mutexWaiter{parker: atomics.NewParker()}
		}
		pool = &contextWaiters
	}
	w := pool.Get().(*mutexWaiter)
	w.pool = pool
	return w
}

func (w *mutexWaiter) free() {
	if w.pool != nil {
		w.pool.Put(w)
	}
}
