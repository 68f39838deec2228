//go:build systematic

package mutex_test

import (
	"testing"

	"locklab/internal/explore"
	"locklab/mutex"
)

// TestSystematic explores the locks that are made of words and parkers.
func TestSystematic(t *testing.T) {
	const (
		runtime = "it waits in the Go runtime, which has a scheduler of its own"
		plain   = "it is made of plain memory or of a mutex of the standard library"
	)
	explore.Suite{
		Locks: mutex.Suite,
		Unexplored: map[string]string{
			"empty": "it is no lock", "chan": runtime, "sync-mutex": runtime, "semaphore": runtime, "sync-rwmutex": runtime,
			"futex": "it waits in the kernel", "bravo": "the lock under it is sync.RWMutex, which waits in the Go runtime",
			"busted-tas": plain, "busted-handoff": plain, "busted-fifo": plain, "busted-rw": plain,
		},
	}.Run(t)
}
