package spinlock

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// TAS is a test-and-set lock: the first goroutine that swaps its word from 0 to 1 takes it.
// Service is in no order, and a waiter may starve. The zero value is free.
//
// # Trade-offs
//
// It is the smallest and, without contention, fastest lock. Under contention every poll takes
// the cache line away from the holder, which needs it to release. The cost of one acquisition
// grows with the number of waiters.
//
// # Memory ordering
//
// The CompareAndSwap that takes the lock is sequentially consistent and pairs with the release
// store of the Unlock before it.
//
// # References
//
// Thomas E. Anderson, "The Performance of Spin Lock Alternatives for Shared-Memory
// Multiprocessors", IEEE Transactions on Parallel and Distributed Systems 1(1), January 1990,
// pages 6-16: the lock called spin on test-and-set. DOI 10.1109/71.80120.
type TAS struct {
	// Wait is the policy between two polls. Set it before first use.
	Wait WaitPolicy

	// Pin is the goroutines' binding to threads: it decides how a waiter yields. Set it first.
	Pin Pin

	_    atomics.CacheLinePad
	held atomics.Uint32 // 0 free, 1 held
	_    atomics.CacheLinePad
}

// Lock takes the lock and waits for it if need be.
func (l *TAS) Lock() {
	if !l.held.CompareAndSwap(0, 1) {
		l.lockSlow()
	}
}

func (l *TAS) lockSlow() {
	for w := waiting.New(l.Wait, l.Pin); !l.held.CompareAndSwap(0, 1); {
		w.Wait()
	}
}

// TryLock takes the lock if it is free and reports whether it did.
func (l *TAS) TryLock() bool { return l.held.CompareAndSwap(0, 1) }

// Unlock releases the lock, which the caller must hold.
func (l *TAS) Unlock() { l.held.StoreRelease(0) }
