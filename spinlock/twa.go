package spinlock

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

const (
	twaNear   = 1   // a waiter with at most this many ahead of it polls the lock itself
	twaSpread = 127 // slots between two consecutive numbers
)

// A WaitingArray has the slots that waiters of any number of [TWA] locks poll. They are not
// padded: consecutive numbers are far apart, so waiters seldom share a line.
type WaitingArray struct {
	slots []atomics.Uint32
	locks atomics.Uint32 // number of locks that use the array
}

// NewWaitingArray returns an array of at least n slots, 1 or more, 4 bytes each. The paper
// takes 4096 for all locks of a program. With fewer slots more waiters poll their lock in vain.
func NewWaitingArray(n int) *WaitingArray {
	return &WaitingArray{slots: make([]atomics.Uint32, slots(n))}
}

func (a *WaitingArray) slot(salt, number uint32) *atomics.Uint32 {
	return &a.slots[(number*twaSpread^salt)&uint32(len(a.slots)-1)]
}

// TWA is a ticket lock augmented with a waiting array: as in [Ticket], Lock draws a number,
// but only the next in line polls the lock. Each waiter behind it polls a slot of an array,
// found by hashing lock and number. The slot changes when the waiter becomes the next in line.
// Service is first come, first served. Make one with [NewTWA].
//
// # Trade-offs
//
// A release disturbs two waiters, whatever their number: the next owner, and its successor,
// which moves from the array to the lock while the owner runs. So with many waiters a handover
// is nearly as fast as in [MCS], without a node or a handle per worker. The price is a second
// read-modify-write instruction in each release, needed or not, on a line of the array that
// changes with each release. Two waiters that share a slot poll their locks once in vain.
//
// Adaptive goroutines sleep as in [Ticket], and then do not use the array.
//
// # Memory ordering
//
// As for [Ticket]. No change of a slot can be missed: a waiter reads its slot first and
// serving second, while a release writes serving first and changes the slot second.
//
// # References
//
// Dave Dice and Alex Kogan, "TWA - Ticket Locks Augmented with a Waiting Array", Euro-Par
// 2019: Parallel Processing, LNCS 11725, pages 334-345, DOI 10.1007/978-3-030-29400-7_24,
// arXiv:1810.01573.
type TWA struct {
	Ticket
	array *WaitingArray
	salt  uint32
}

// NewTWA returns a free lock for at most workers goroutines at a time, at least 1, whose
// waiters poll array. Other locks may share array.
func NewTWA(workers int, array *WaitingArray, o Options) *TWA {
	return &TWA{
		Ticket: Ticket{Wait: o.Wait, Pin: o.Pin, parkSlots: newParkSlots(workers, o)},
		array:  array,
		salt:   array.locks.Add(1) * 0x9e3779b1, // 2^32 over the golden ratio, odd
	}
}

// Lock takes the lock and waits for it if need be.
func (l *TWA) Lock() { l.await(l.next.Add(1)-1, (*TWA).lockSlow) }

func (l *TWA) await(mine uint32, slow func(*TWA, uint32)) {
	if l.serving.Load() != mine {
		slow(l, mine)
	}
}

func (l *TWA) lockSlow(mine uint32) {
	w := l.begin(mine)
	l.moveUp(&w, mine)
	l.poll(&w, mine)
	l.keepOffer(&w)
}

// moveUp waits in the array until at most twaNear numbers are before mine.
func (l *TWA) moveUp(w *waiting.Waiter, mine uint32) {
	for slot := l.array.slot(l.salt, mine); ; {
		seen := slot.Load()
		if mine-l.serving.Load() <= twaNear {
			return
		}
		for now := slot.Load(); now == seen; now = w.While(slot, seen) {
			if l.sleep(w, mine) {
				return
			}
		}
	}
}

// Unlock releases the lock, which the caller must hold.
func (l *TWA) Unlock() {
	next := l.serving.Load() + 1
	l.Ticket.Unlock()
	l.array.slot(l.salt, next+twaNear).Add(1)
}
