//go:build !systematic

package mutex

import (
	"sync"
	"time"

	"locklab/atomics"
)

var mutexEpoch = time.Now()

func mutexNow() time.Duration { return time.Since(mutexEpoch) }

// A waiter sleeps on a channel. A channel made in a bubble of testing/synctest, whose clock is
// below 0, is for the goroutines of the bubble alone. So a waiter made there has none if it never
// gives up, and is not pooled if it may.
var (
	lockWaiters = sync.Pool{New: func() any {
		if mutexNow() < 0 {
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
		if mutexNow() < 0 {
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
