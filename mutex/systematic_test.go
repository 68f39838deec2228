//go:build systematic

package mutex_test

import (
	"slices"
	"testing"

	"locklab/harness"
	"locklab/internal/explore"
	"locklab/mutex"
	"locklab/mutex/lab"
)

// bravoOverWords is bravo over a lock that the explorer can see.
var bravoOverWords = &harness.Variant{
	Name:   "bravo-over-phase-fair",
	Traits: harness.Traits{ReadWrite: true},
	Local: func(s harness.Setup) harness.Local {
		wait := mutex.WaitPolicy(s.Wait)
		return harness.Handles(mutex.NewBRAVO(s.Workers, &mutex.PhaseFair{Wait: wait}, mutex.Options{Wait: wait, Pin: mutex.Pin(s.Pin)}))
	},
}

func TestSystematic(t *testing.T) {
	const (
		runtime = "it waits in the Go runtime, which has a scheduler of its own"
		plain   = "it is made of plain memory or of a mutex of the standard library"
	)
	explore.Suite{
		Locks: append(slices.Clone(lab.Suite), bravoOverWords),
		Unexplored: map[string]string{
			"empty": "it is no lock", "chan": runtime, "sync-mutex": runtime, "semaphore": runtime, "sync-rwmutex": runtime, "xsync-rbmutex": runtime,
			"bravo":      "the lock under it is sync.RWMutex, which waits in the Go runtime: see bravo-over-phase-fair",
			"busted-tas": plain, "busted-handoff": plain, "busted-fifo": plain, "busted-rw": plain,
		},
	}.Run(t)
}
