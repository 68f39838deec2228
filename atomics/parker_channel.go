//go:build !systematic

package atomics

// A semaphore puts the owner of a [Parker] to sleep. It counts to one. A channel was as fast
// as sync.Cond, and faster than sync.WaitGroup and sync.Mutex: 280 ns a round trip.
type semaphore struct{ tokens chan struct{} }

func newSemaphore() semaphore { return semaphore{tokens: make(chan struct{}, 1)} }

// acquire takes the token, or gives up when done is closed, and reports whether it took it.
func (s *semaphore) acquire(done <-chan struct{}) bool {
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

// release returns the token. It waits while the token has not been taken.
func (s *semaphore) release() { s.tokens <- struct{}{} }
