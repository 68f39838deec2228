package spinlock

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// maxBackoff bounds the delay between two polls, in units of the wait policy. Anderson
// proposes the number of processors. A constant of the same size keeps the lock one word.
const maxBackoff = 16

// Backoff is a test-and-test-and-set lock whose waiters back off. After each failure a waiter
// stays away for a random time; its mean doubles up to a bound. In the end the waiter yields
// its processor before each poll. Service is in no order, and a waiter may starve: see the
// package comment. The zero value is free.
//
// # Trade-offs
//
// Try this lock of the package first. A release costs the same with any number of waiters,
// since few poll at the same time. The lock tolerates more waiters than processors. In return,
// a lock can stay free while all its waiters stay away, and a late waiter often goes first.
//
// # Memory ordering
//
// The CompareAndSwap that takes the lock pairs with the release store of the Unlock before it.
// The reads that wait order nothing.
//
// # References
//
// Thomas E. Anderson, "The Performance of Spin Lock Alternatives for Shared-Memory
// Multiprocessors", IEEE Transactions on Parallel and Distributed Systems 1(1), January 1990,
// pages 6-16: delay after noticing that a released lock was taken by another. DOI
// 10.1109/71.80120.
//
// Anant Agarwal and Mathews Cherian, "Adaptive Backoff Synchronization Techniques",
// Proceedings of the 16th International Symposium on Computer Architecture (ISCA), 1989, pages
// 396-406. DOI 10.1145/74925.74970.
type Backoff struct {
	// Wait is the wait policy during a unit of the delay. Set it before first use.
	Wait WaitPolicy

	// Pin is the goroutines' binding to threads: it decides how a waiter yields. Set it first.
	Pin Pin

	_    atomics.CacheLinePad
	held atomics.Uint32 // 0 free, 1 held
	_    atomics.CacheLinePad
}

// Lock takes the lock and waits for it if need be.
func (l *Backoff) Lock() {
	if !l.held.TestAndSet() {
		l.lockSlow()
	}
}

func (l *Backoff) lockSlow() {
	w := waiting.New(l.Wait, l.Pin)
	for limit := 1; ; limit = min(2*limit, maxBackoff) {
		w.Delay(1 + random(limit))
		if l.TryLock() {
			return
		}
	}
}

// TryLock takes the lock if it is free and reports whether it did.
func (l *Backoff) TryLock() bool { return l.held.TestAndSet() }

// Unlock releases the lock, which the caller must hold.
func (l *Backoff) Unlock() { l.held.StoreRelease(0) }
