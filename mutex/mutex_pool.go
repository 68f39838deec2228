//go:build !systematic

package mutex

import (
	"sync"

	"locklab/atomics"
)

// Waiters that never give up sleep as those of package sync. A waiter that may give up has a
// channel. In a bubble of testing/synctest, whose clock is below 0, it is not pooled, since no
// other goroutine may use the channel.
var (
	lockWaiters    = sync.Pool{New: func() any { return &mutexWaiter{parker: atomics.NewLockParker()} }}
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
