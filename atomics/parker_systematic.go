//go:build systematic

package atomics

import "sync/atomic"

// A semaphore puts the owner of a [Parker] to sleep. It counts to one: in its own word for a
// [Scheduler], which no goroutine sleeps on, otherwise in a channel.
type semaphore struct {
	tokens chan struct{}
	count  atomic.Uint32
}

func newSemaphore() semaphore { return semaphore{tokens: make(chan struct{}, 1)} }

// acquire takes the token, or gives up when done is closed, and reports whether it took it. If
// done is closed before a [Scheduler] sees the call, it first waits for another goroutine to
// move.
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
	select {
	case <-s.tokens:
		return true
	case <-done:
		return false
	}
}

func (s *semaphore) release() {
	if _, ok := schedule(OpRelease, word32(&s.count), 0, 0); !ok {
		s.tokens <- struct{}{}
	}
}
