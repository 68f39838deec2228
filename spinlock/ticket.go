package spinlock

import (
	"fmt"
	"math/bits"

	"locklab/atomics"
	"locklab/internal/waiting"
)

// Ticket is a ticket lock: Lock draws a number and waits until it is served. Service is in the
// order of the numbers, that is first come, first served. The zero value is free.
//
// # Trade-offs
//
// All waiters poll the same word, so each release invalidates every waiter's cache. With more
// waiters than processors the lock collapses unless they yield: the next owner is probably not
// running, and no other may overtake it.
//
// A lock from [NewTicket] has a place to sleep for each goroutine. Adaptive goroutines sleep,
// except the first one behind a holder that did not wait: that one polls. Waiters of the zero
// value yield.
//
// # Memory ordering
//
// The load of serving that ends a wait pairs with the release store of the Unlock before it; a
// wake-up comes after that store. Only the holder writes serving, so a store is enough. The
// numbers wrap: at most 2^32 - 1 goroutines may hold or wait at a time. A TryLock must not be
// stopped between its load and its swap while exactly 2^32 numbers are drawn.
//
// # References
//
// David P. Reed and Rajendra K. Kanodia, "Synchronization with Eventcounts and Sequencers",
// Communications of the ACM 22(2), February 1979, pages 115-123: mutual exclusion by a
// sequencer and an eventcount. DOI 10.1145/359060.359076.
//
// John M. Mellor-Crummey and Michael L. Scott, "Algorithms for Scalable Synchronization on
// Shared-Memory Multiprocessors", ACM Transactions on Computer Systems 9(1), February 1991,
// pages 21-65, section 2.2. DOI 10.1145/103727.103729.
type Ticket struct {
	// Wait is the policy between two polls. Set it before first use.
	Wait WaitPolicy

	// Pin is the goroutines' binding to threads: it decides how a waiter yields. Set it first.
	Pin Pin

	parkSlots

	_       atomics.CacheLinePad
	next    atomics.Uint32 // the number that the next goroutine draws
	_       atomics.CacheLinePad
	serving atomics.Uint32 // the number of the holder; equal to next if the lock is free
	offered bool           // the holder has offered the next waiter a place to sleep; guarded by the lock
	_       atomics.CacheLinePad
}

// parkSlots are the slots of a lock that serves by numbers: number n offers slot n modulo
// their count, enough that no two live numbers share one. Without slots no waiter sleeps.
type parkSlots struct {
	sleeper waiting.Waiter // how a wait begins, if there are slots
	slots   []parkSlot
}

func newParkSlots(workers int, o Options) parkSlots {
	b := parkSlots{sleeper: o.sleeper(workers)}
	if b.sleeper.Sleeps() {
		b.slots = newSlots(slots(workers))
	}
	return b
}

func slots(n int) int {
	if n < 1 {
		panic(fmt.Sprintf("locklab: %d slots: want at least 1", n))
	}
	return 1 << bits.Len(uint(n-1))
}

func (b *parkSlots) of(number uint32) *parkSlot { return &b.slots[number&uint32(len(b.slots)-1)] }

// NewTicket returns a free lock for at most workers goroutines, at least 1, that can sleep.
func NewTicket(workers int, o Options) *Ticket {
	return &Ticket{Wait: o.Wait, Pin: o.Pin, parkSlots: newParkSlots(workers, o)}
}

// Lock takes the lock and waits for it if need be.
func (l *Ticket) Lock() { l.await(l.next.Add(1)-1, (*Ticket).lockSlow) }

// await calls slow if number mine is not served. It takes slow as a value so that Lock
// can be inlined: a call by name exceeds the inlining budget of the compiler.
func (l *Ticket) await(mine uint32, slow func(*Ticket, uint32)) {
	if l.serving.Load() != mine {
		slow(l, mine)
	}
}

func (l *Ticket) lockSlow(mine uint32) {
	polled := 0
	if l.slots == nil && (l.Wait == WaitAdaptive || l.Wait == WaitPause) {
		for ; polled < firstPolls; polled++ {
			atomics.SpinHint(1)
			if l.serving.Load() == mine {
				return
			}
		}
	}
	w := l.begin(mine)
	w.Spend(polled)
	l.poll(&w, mine)
	l.keepOffer(&w)
}

// firstPolls is the number of first polls of a waiter that cannot sleep, in which two pinned
// workers hand over. With PollWhile, or the wait prepared first, it took a third longer.
const firstPolls = 4

func (l *Ticket) poll(w *waiting.Waiter, mine uint32) {
	for serving := l.serving.Load(); serving != mine; {
		if l.sleep(w, mine) {
			serving = l.serving.Load()
		} else {
			serving = w.While(&l.serving, serving)
		}
	}
}

// keepOffer writes offered only if it changes: the next waiter already polls its line.
func (l *Ticket) keepOffer(w *waiting.Waiter) {
	if w.Sleeps() {
		l.offered = true
	}
}

func (l *Ticket) begin(mine uint32) waiting.Waiter {
	if l.slots == nil {
		return waiting.New(l.Wait, l.Pin)
	}
	l.of(mine).offer(mine)
	return l.sleeper
}

func (l *Ticket) sleep(w *waiting.Waiter, mine uint32) bool {
	return w.Tired() && l.of(mine-1).sleep(mine-1)
}

// TryLock takes the lock if it is free, by a number that is served at once, and reports that.
func (l *Ticket) TryLock() bool {
	serving := l.serving.Load()
	return l.next.CompareAndSwap(serving, serving+1)
}

// Unlock releases the lock, which the caller must hold.
func (l *Ticket) Unlock() {
	if l.offered {
		l.unlockOffered()
	} else {
		l.serving.AddRelease(1)
	}
}

func (l *Ticket) unlockOffered() {
	l.offered = false
	mine := l.serving.Load()
	slot := l.of(mine)
	taken := slot.close()
	l.serving.StoreRelease(mine + 1)
	if taken {
		slot.wake()
	}
}
