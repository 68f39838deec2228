package lab

import (
	"context"

	"golang.org/x/sync/semaphore"

	"locklab/harness"
)

// weighted is the semaphore of the extended standard library with one permit: a counter and a
// list of waiters, both guarded by a sync.Mutex.
//
// # Trade-offs
//
// An uncontended acquisition takes and frees the mutex inside twice, at two to three times the
// cost of the mutex, half of [mutex.Chan]'s. Like Chan, it serves waiters first come, first
// served, and a waiter can give up when a context ends. Unlike in Chan, a waiter allocates its
// place in the list and a channel.
//
// # Memory ordering
//
// As for the mutex inside: a Release is synchronized before the Acquire that takes the permit.
//
// # References
//
// The Go project, golang.org/x/sync/semaphore, type Weighted (v0.24.0): service is in order,
// since an arrival queues up behind all other waiters. The permits go back to Edsger W.
// Dijkstra, "Over de sequentialiteit van procesbeschrijvingen" (EWD 35), 1962 or 1963.
var weighted = blocking("semaphore", "golang.org/x/sync/semaphore with one permit",
	"golang.org/x/sync/semaphore", notJudged, harness.Traits{FIFO: true, Allocates: true},
	func(harness.Setup) harness.Local { return harness.Shared(permit{semaphore.NewWeighted(1)}) })

type permit struct{ s *semaphore.Weighted }

func (p permit) Lock() {
	// A context that does not end leaves no other error.
	_ = p.s.Acquire(context.Background(), 1)
}

func (p permit) TryLock() bool { return p.s.TryAcquire(1) }
func (p permit) Unlock()       { p.s.Release(1) }
