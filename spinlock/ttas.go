package spinlock

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// TTAS is a test-and-test-and-set lock: a waiter polls by plain reads from its own cache,
// and tries to swap only when it reads 0. Service is in no order, and a waiter may
// starve: see the package comment. The zero value is free.
//
// # Trade-offs
//
// Waiting costs the holder nothing until the release. Then all waiters miss, read 0 and
// swap at once: every release causes a burst of traffic that grows with their number.
// [Backoff] avoids it.
//
// # Memory ordering
//
// The CompareAndSwap that takes the lock pairs with the release store of the
// Unlock before it. The reads that wait order nothing.
//
// # References
//
// Larry Rudolph and Zary Segall, "Dynamic Decentralized Cache Schemes for
// MIMD Parallel Processors", Proceedings of the 11th International Symposium
// on Computer Architecture (ISCA), 1984, pages 340-347: the synchronization
// instruction test-and-test-and-set. DOI 10.1145/800015.808203.
type TTAS struct {
	// Wait is the policy between two polls. Set it before first use.
	Wait WaitPolicy

	// Pin is the goroutines' binding to threads: it decides how a waiter yields. Set it first.
	Pin Pin

	_    atomics.CacheLinePad
	held atomics.Uint32 // 0 free, 1 held
	_    atomics.CacheLinePad
}

// Lock takes the lock and waits for it if need be.
func (l *TTAS) Lock() {
	if !l.held.TestAndSet() {
		l.lockSlow()
	}
}

func (l *TTAS) lockSlow() {
	w := waiting.New(l.Wait, l.Pin)
	for held := l.held.Load(); held != 0 || !l.held.CompareAndSwap(0, 1); {
		held = w.While(&l.held, 1)
	}
}

// TryLock takes the lock if it is free and reports whether it did.
func (l *TTAS) TryLock() bool { return l.held.TestAndSet() }

// Unlock releases the lock, which the caller must hold.
func (l *TTAS) Unlock() { l.held.StoreRelease(0) }
