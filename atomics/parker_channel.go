//go:build !systematic

package atomics

import "sync"

// A semaphore puts the owner of a [Parker] to sleep. It counts to one. A channel was as fast
// as sync.Cond, a little faster than sync.RWMutex, and faster than sync.WaitGroup and
// sync.Mutex: 280 ns a round trip.
type semaphore struct {
	tokens chan struct{} // nil in a parker of NewLockParker
	gate   sync.RWMutex  // in its place: free while there is a token
}

func newSemaphore() semaphore { return semaphore{tokens: make(chan struct{}, 1)} }

// NewLockParker returns a parker whose owner sleeps as a waiter of sync.RWMutex: never durably
// blocked in a bubble of testing/synctest. Any goroutine may wake it, while a channel belongs to
// the bubble that it was made in. Its ParkUntil ignores done.
func NewLockParker() *Parker {
	p := new(Parker)
	p.wakeup.gate.Lock()
	return p
}

// acquire takes the token, or gives up when done is closed, and reports whether it took it.
func (s *semaphore) acquire(done <-chan struct{}) bool {
	if s.tokens == nil {
		s.gate.RLock()
		//lint:ignore SA2001 it waits for release, which opens the gate
		s.gate.RUnlock()
		s.gate.Lock()
		return true
	}
	if done == nil {
		<-s.tokens
		return true
	}
	select {
	case <-s.tokens:
		return true
	case <-done:
		return false
	}
}

// release waits while the token has not been taken.
func (s *semaphore) release() {
	if s.tokens == nil {
		s.gate.Unlock()
	} else {
		s.tokens <- struct{}{}
	}
}
