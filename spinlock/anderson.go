package spinlock

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// Anderson is the array-based queue lock of Anderson: Lock draws a number, as in a [Ticket]
// lock, and polls the flag of that number. No other waiter polls that flag. Service is first
// come, first served. Make one with [NewAnderson].
//
// # Trade-offs
//
// A release disturbs only one waiter. There are no links and no nodes, and an acquisition
// takes one read-modify-write instruction. In return, each lock has a cache line for each
// worker and a maximum number of workers. The lock moves through the array even without
// waiters, so an uncontended acquisition touches two lines that change each time.
//
// As in [Ticket], adaptive goroutines sleep, except the first one behind a holder that did not
// wait: that one polls.
//
// # Memory ordering
//
// The load of a flag that ends a wait pairs with the release store of the Unlock before it; a
// wake-up comes after that store. A holder clears its flag before it unlocks, so the flag is
// clear when the next number that shares it is drawn.
//
// # References
//
// Thomas E. Anderson, "The Performance of Spin Lock Alternatives for Shared-Memory
// Multiprocessors", IEEE Transactions on Parallel and Distributed Systems 1(1), January 1990,
// pages 6-16: queueing in shared memory. DOI 10.1109/71.80120.
type Anderson struct {
	waiter  waiting.Waiter
	parking parkSlots
	flags   []andersonFlag // a power of two in length: number n uses flags[n modulo length]

	_       atomics.CacheLinePad
	next    atomics.Uint32 // the number that the next goroutine draws
	_       atomics.CacheLinePad
	mine    guarded // the holder's number; guarded by the lock
	offered bool    // the holder has offered the next waiter a place to sleep; guarded by the lock
	_       atomics.CacheLinePad
}

type andersonFlag struct {
	up atomics.Uint32
	_  atomics.CacheLinePad
}

// NewAnderson returns a free lock for at most workers goroutines, at least 1: more break it.
func NewAnderson(workers int, o Options) *Anderson {
	l := &Anderson{waiter: o.sleeper(workers), parking: newParkSlots(workers, o), flags: make([]andersonFlag, slots(workers))}
	l.flag(0).Store(1)
	return l
}

func (l *Anderson) flag(number uint32) *atomics.Uint32 {
	return &l.flags[number&uint32(len(l.flags)-1)].up
}

// Lock takes the lock and waits for it if need be.
func (l *Anderson) Lock() {
	mine := l.next.Add(1) - 1
	if l.flag(mine).Load() == 0 {
		l.lockSlow(mine)
	}
	l.enter(mine)
}

func (l *Anderson) lockSlow(mine uint32) {
	w := l.waiter
	if w.Sleeps() {
		l.parking.of(mine).offer(mine)
	}
	flag := l.flag(mine)
	for up := flag.Load(); up == 0; {
		if w.Tired() && l.parking.of(mine-1).sleep(mine-1) {
			up = flag.Load()
		} else {
			up = w.While(flag, 0)
		}
	}
	if w.Sleeps() {
		l.offered = true
	}
}

func (l *Anderson) enter(mine uint32) {
	l.flag(mine).StoreRelease(0)
	l.mine.set(mine)
}

// TryLock reports whether it took the lock: the flag of the next number is up if it is free.
func (l *Anderson) TryLock() bool {
	mine := l.next.Load()
	if l.flag(mine).Load() == 0 || !l.next.CompareAndSwap(mine, mine+1) {
		return false
	}
	l.enter(mine)
	return true
}

// Unlock releases the lock, which the caller must hold.
func (l *Anderson) Unlock() {
	if mine := l.mine.get(); l.offered {
		l.unlockOffered(mine)
	} else {
		l.flag(mine + 1).StoreRelease(1)
	}
}

func (l *Anderson) unlockOffered(mine uint32) {
	l.offered = false
	slot := l.parking.of(mine)
	taken := slot.close()
	l.flag(mine + 1).StoreRelease(1)
	if taken {
		slot.wake()
	}
}
