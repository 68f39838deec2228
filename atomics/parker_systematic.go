//go:build systematic

package atomics

import "sync/atomic"

// A semaphore is what a [Parker] sleeps on. It counts to one. A [Scheduler],
// if there is one, keeps the count in a word of its own and lets no goroutine
// sleep; else it is a channel, as in the normal build.
type semaphore struct {
	tokens chan struct{}
	count  atomic.Uint32
}

func newSemaphore() semaphore { return semaphore{tokens: make(chan struct{}, 1)} }

// acquire takes the token, and waits until there is one.
func (s *semaphore) acquire() {
	if _, ok := schedule(OpAcquire, word32(&s.count), 0, 0); !ok {
		<-s.tokens
	}
}

// release puts the token there. It must be gone, or release waits.
func (s *semaphore) release() {
	if _, ok := schedule(OpRelease, word32(&s.count), 0, 0); !ok {
		s.tokens <- struct{}{}
	}
}
