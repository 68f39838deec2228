//go:build !systematic

package mutex

import (
	"sync"

	"locklab/atomics"
)

var mutexWaiters = sync.Pool{New: func() any { return &mutexWaiter{parker: atomics.NewParker()} }}

func newMutexWaiter() *mutexWaiter { return mutexWaiters.Get().(*mutexWaiter) }

func (w *mutexWaiter) free() { mutexWaiters.Put(w) }
