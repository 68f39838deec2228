package lab

import (
	"sync"

	"locklab/harness"
)

// syncMutex is the lock of the standard library: one compare-and-swap when
// the lock is free, a short spin, then a queue of parked goroutines.
//
// # Trade-offs
//
// A running goroutine may take the lock before one that has just been woken. This makes
// the lock fast, and unfair for short times. A waiter that fails for 1 ms switches the
// lock to strict handover from the front of the queue.
//
// # Memory ordering
//
// The n-th Unlock is synchronized before the return of the m-th Lock, n < m:
// the Go memory model, section "Locks".
//
// # References
//
// The Go standard library, package sync; the policy is the comment "Mutex
// fairness" in internal/sync/mutex.go (Go 1.24 and later).
var syncMutex = blocking("sync-mutex", "the mutex of the Go standard library",
	"Go standard library, package sync", harness.Standard, harness.Traits{Bounded: true},
	func(harness.Setup) harness.Local { return harness.Shared(new(sync.Mutex)) })

// rwMutex is the readers-writer lock of the standard library: a counter of readers, and a
// sync.Mutex for the writers among themselves.
//
// # Trade-offs
//
// Readers share a counter: each RLock and each RUnlock is an atomic addition to one word, whose
// cache line travels between them. So reading does not get faster with more processors unless
// readers stay for microseconds. A writer keeps new readers out while it waits for the readers
// inside, so neither side starves; for that reason a goroutine must not take RLock twice.
//
// # Memory ordering
//
// For every RLock there is a number n such that the n-th Unlock is synchronized before its
// return, and the matching RUnlock before the return of the n+1-th Lock: the Go memory model,
// section "Locks".
//
// # References
//
// The Go standard library, package sync, rwmutex.go. golang.org/issue/17973 reports that the
// shared counter does not scale.
var rwMutex = blocking("sync-rwmutex", "the readers-writer lock of the Go standard library",
	"Go standard library, package sync", harness.Standard, harness.Traits{Bounded: true, ReadWrite: true},
	func(harness.Setup) harness.Local { return harness.Shared(new(sync.RWMutex)) })
