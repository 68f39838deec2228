package spinlock

import (
	"locklab/atomics"
	"locklab/harness"
)

var ticket = &harness.Variant{
	Name:   "ticket",
	Doc:    "a counter hands out numbers, a second one says whose turn it is",
	Paper:  "Reed & Kanodia 1979",
	Family: harness.Spin,
	Status: harness.Reference,
	Traits: harness.Traits{FIFO: true},
	Local:  func(s harness.Setup) harness.Local { return harness.Shared(&Ticket{Wait: s.Wait}) },
}

// Ticket is a ticket lock: Lock draws a number and waits until it is served.
// Service is in the order of the numbers, that is first come, first served.
// The zero value is free.
//
// # Trade-offs
//
// Two words give strict order to any number of goroutines. All waiters poll
// the same word, so each release invalidates every waiter's cache. With more
// waiters than processors the lock collapses unless they yield: the next owner
// is probably not running, and nobody may go before it.
//
// # Memory ordering
//
// The load of serving that ends a wait pairs with the release store of the
// Unlock before it. Only the holder writes serving, so a store is enough. The
// numbers wrap: at most 2^32 - 1 goroutines may hold or wait at a time.
//
// # References
//
// David P. Reed and Rajendra K. Kanodia, "Synchronization with Eventcounts and
// Sequencers", Communications of the ACM 22(2), February 1979, pages 115-123:
// mutual exclusion by a sequencer and an eventcount.
// DOI 10.1145/359060.359076.
//
// John M. Mellor-Crummey and Michael L. Scott, "Algorithms for Scalable
// Synchronization on Shared-Memory Multiprocessors", ACM Transactions on
// Computer Systems 9(1), February 1991, pages 21-65, section 2.2.
// DOI 10.1145/103727.103729.
type Ticket struct {
	// Wait says what a waiter does between two looks. Set it before first use.
	Wait harness.WaitPolicy

	_       atomics.CacheLinePad
	next    atomics.Uint32 // the number the next goroutine draws
	_       atomics.CacheLinePad
	serving atomics.Uint32 // the number whose turn it is; next if the lock is free
	_       atomics.CacheLinePad
}

// Lock takes the lock and waits for it if need be.
func (l *Ticket) Lock() {
	if mine := l.next.Add(1) - 1; l.serving.Load() != mine {
		l.lockSlow(mine)
	}
}

// lockSlow is apart so that the fast path stays small.
func (l *Ticket) lockSlow(mine uint32) {
	for w := newWaiter(l.Wait); l.serving.Load() != mine; {
		w.wait()
	}
}

// TryLock takes the lock if it is free and reports whether it did. It draws a
// number only if that number is served at once.
func (l *Ticket) TryLock() bool {
	serving := l.serving.Load()
	return l.next.CompareAndSwap(serving, serving+1)
}

// Unlock releases the lock, which the caller must hold.
func (l *Ticket) Unlock() { l.serving.StoreRelease(l.serving.Load() + 1) }
