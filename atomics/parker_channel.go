//go:build !systematic

package atomics

// A semaphore is what a [Parker] sleeps on. It counts to one. A channel was
// within 10 % of sync.Cond and faster than sync.WaitGroup and sync.Mutex used
// for this: 280 ns there and back between two goroutines.
type semaphore struct{ tokens chan struct{} }

func newSemaphore() semaphore { return semaphore{tokens: make(chan struct{}, 1)} }

// acquire takes the token, and waits until there is one.
func (s *semaphore) acquire() { <-s.tokens }

// release puts the token there. It must be gone, or release waits.
func (s *semaphore) release() { s.tokens <- struct{}{} }
