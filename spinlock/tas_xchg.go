package spinlock

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// ExchangeTAS is [TAS] with an unconditional exchange in place of the compare-and-swap: a
// waiter writes 1 repeatedly, and has the lock when it replaced a 0. Service is in no
// order, and a waiter may starve: see the package comment. The zero value is free.
//
// # Trade-offs
//
// As for [TAS]. It is here for comparison with it. XCHG and LOCK CMPXCHG both take the
// cache line exclusive, also when they fail, so on amd64 neither spares the holder
// anything. On architectures with a reservation (LDAXR and STLXR without LSE, LR and SC)
// a failed compare-and-swap does not write, but the exchange does.
//
// # Memory ordering
//
// The Swap that takes the lock is sequentially consistent and pairs with the
// release store of the Unlock before it.
//
// # References
//
// Thomas E. Anderson, "The Performance of Spin Lock Alternatives for Shared-Memory
// Multiprocessors", IEEE Transactions on Parallel and Distributed Systems 1(1), January
// 1990, pages 6-16: the lock called spin on test-and-set, by an atomic exchange. DOI
// 10.1109/71.80120.
type ExchangeTAS struct {
	// Wait is the policy between two polls. Set it before first use.
	Wait WaitPolicy

	// Pin is the goroutines' binding to threads: it decides how a waiter yields. Set it first.
	Pin Pin

	_    atomics.CacheLinePad
	held atomics.Uint32 // 0 free, 1 held
	_    atomics.CacheLinePad
}

// Lock takes the lock and waits for it if need be.
func (l *ExchangeTAS) Lock() {
	if l.held.Swap(1) != 0 {
		l.lockSlow()
	}
}

func (l *ExchangeTAS) lockSlow() {
	for w := waiting.New(l.Wait, l.Pin); l.held.Swap(1) != 0; {
		w.Wait()
	}
}

// TryLock takes the lock if it is free and reports whether it did.
func (l *ExchangeTAS) TryLock() bool { return l.held.Swap(1) == 0 }

// Unlock releases the lock, which the caller must hold.
func (l *ExchangeTAS) Unlock() { l.held.StoreRelease(0) }
