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

// acquire takes the token, or gives up when done is closed, and reports whether it took
// the token. If done is closed before a [Scheduler] sees the call, it waits for another
// goroutine to move, and then gives up.
func (s *semaphore) acquire(done <-chan struct{}) bool {
	scheduled := scheduler.Load() != nil
	select {
	case <-done:
		if scheduled {
			schedule(OpSpin, Word{}, 0, 0)
		}
		return false
	default:
	}
	if scheduled {
		schedule(OpAcquire, word32(&s.count), 0, 0)
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

// release returns the token. It waits while the token has not been taken.
func (s *semaphore) release() {
	if _, ok := schedule(OpRelease, word32(&s.count), 0, 0); !ok {
		s.tokens <- struct{}{}
	}
}
