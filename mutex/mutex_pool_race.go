//go:build race && !systematic

package mutex

import "locklab/atomics"

// mutexWaiters is no sync.Pool, which drops values at random under the race detector.
var mutexWaiters = make(chan *mutexWaiter, 1<<12)

func newMutexWaiter() *mutexWaiter {
	select {
	case w := <-mutexWaiters:
		return w
	default:
		return &mutexWaiter{parker: atomics.NewParker()}
	}
}

func (w *mutexWaiter) free() {
	select {
	case mutexWaiters <- w:
	default:
	}
}
