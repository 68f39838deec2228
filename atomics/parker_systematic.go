//go:build systematic

package atomics

import "sync/atomic"

// A semaphore puts the owner of a [Parker] to sleep. It counts to one. If there is a
// [Scheduler], the count is in its own word and no goroutine sleeps; otherwise it is a
// channel, as in the normal build.
type semaphore struct {
	tokens chan struct{}
	count  atomic.Uint32
}

func newSemaphore() semaphore { return semaphore{tokens: make(chan struct{}, 1)} }

func (s *semaphore) acquire() {
	if _, ok := schedule(OpAcquire, word32(&s.count), 0, 0); !ok {
		<-s.tokens
	}
}

// release returns the token. It waits while the token has not been taken.
func (s *semaphore) release() {
	if _, ok := schedule(OpRelease, word32(&s.count), 0, 0); !ok {
		s.tokens <- struct{}{}
	}
}
