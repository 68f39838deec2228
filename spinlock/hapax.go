package spinlock

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

const (
	hapaxBlock  = 1 << 16 // values that a worker draws at once
	hapaxSpread = 17      // slots between two consecutive blocks

	hapaxAsleep   = 1 << 63 // added to a value in a slot: its waiter sleeps, or is about to
	hapaxReserved = 1 << 63 // alone in a slot: a waiter is about to enter its value
)

// A HapaxSpace supplies the values of any number of [Hapax] locks, each used once (hapax
// legomenon: a word that occurs once), and the slots in which their waiters wait.
type HapaxSpace struct {
	slots  []hapaxSlot
	locks  atomics.Uint32 // number of locks that use the space
	_      atomics.CacheLinePad
	blocks atomics.Uint64 // number of blocks drawn
	_      atomics.CacheLinePad
}

type hapaxSlot struct {
	awaited atomics.Uint64
	sleeper *atomics.Parker // wakes the waiter if awaited has hapaxAsleep; guarded by a reservation
	_       atomics.CacheLinePad
}

// NewHapaxSpace returns a space with at least n slots, 1 or more, of two cache lines each: in
// the paper 4096 for a program. A waiter whose slot is taken polls the lock instead.
func NewHapaxSpace(n int) *HapaxSpace {
	return &HapaxSpace{slots: make([]hapaxSlot, slots(n))}
}

// Hapax is the value-based queue lock of Dice and Kogan, in the variant with visible waiters:
// an arrival swaps a value that was never used before into the lock, and gets the value of its
// predecessor. It awaits the predecessor's departure in a slot found by hashing that value.
// Service is first come, first served. Make one with [NewHapax].
//
// # Trade-offs
//
// Only numbers pass from worker to worker, which suits Go: the garbage collector has nothing
// to see. A release disturbs one waiter, as in [MCS], and never waits for a successor. Without
// contention an acquisition takes two read-modify-write instructions. If the values of two
// waiters share a slot, the second one polls the lock and cannot sleep.
//
// A worker draws its values in blocks of 65,536. The values have 63 bits and last for
// thousands of years.
//
// # Memory ordering
//
// Taking a free lock: the load of depart pairs with the store in the Unlock before it. Taking
// it in a slot: the load that finds the slot changed, or the wake-up, pairs with the
// CompareAndSwap of the Unlock that cleared it. A waiter enters its value into the slot and
// then reads depart; an Unlock writes depart and then reads the slot. Both writes are
// sequentially consistent, so at least one of the two sees the other.
//
// # References
//
// Dave Dice and Alex Kogan, "Hapax Locks: Value-Based Mutual Exclusion", November 2025,
// arXiv:2511.14608, listing 5; published as "Hapax Locks: Scalable Value-Based Mutual
// Exclusion", PPoPP 2026, pages 13-25.
type Hapax struct {
	waiter waiting.Waiter
	space  *HapaxSpace
	salt   uint32

	_       atomics.CacheLinePad
	arrive  atomics.Uint64 // the value of the last arrival
	_       atomics.CacheLinePad
	depart  atomics.Uint64 // the value of the last departure that was not handed to a slot; equal to arrive if the lock is free
	_       atomics.CacheLinePad
	workers []HapaxWorker
}

// HapaxWorker is the handle of one worker of a [Hapax] lock.
type HapaxWorker struct {
	lock   *Hapax
	mine   uint64 // the value of its current acquisition, or of the last one
	parker *atomics.Parker
	_      atomics.CacheLinePad
}

// NewHapax returns a free lock for workers, at least 1, with values from space, shared or not.
func NewHapax(workers int, space *HapaxSpace, o Options) *Hapax {
	l := &Hapax{waiter: o.sleeper(workers), space: space, salt: space.locks.Add(1), workers: make([]HapaxWorker, workers)}
	for i := range l.workers {
		l.workers[i].lock, l.workers[i].parker = l, atomics.NewParker()
	}
	return l
}

// Worker returns the handle of worker i, 0 <= i < workers, for one goroutine at a time.
func (l *Hapax) Worker(i int) *HapaxWorker {
	waiting.CheckWorker(i, len(l.workers))
	return &l.workers[i]
}

func (l *Hapax) slot(value uint64) *hapaxSlot {
	return &l.space.slots[(l.salt+uint32(value/hapaxBlock))*hapaxSpread&uint32(len(l.space.slots)-1)]
}

// next returns a value that was never used before and is not 0.
func (h *HapaxWorker) next() uint64 {
	if (h.mine+1)%hapaxBlock <= 1 { // the block is used up, or this is the first value
		return h.lock.space.blocks.Add(1)*hapaxBlock + 1
	}
	return h.mine + 1
}

// Lock takes the lock and waits for it if need be.
func (h *HapaxWorker) Lock() {
	h.mine = h.next()
	if before := h.lock.arrive.Swap(h.mine); h.lock.depart.Load() != before {
		h.lockSlow(before)
	}
}

// lockSlow waits until the acquisition of value before is over.
func (h *HapaxWorker) lockSlow(before uint64) {
	l := h.lock
	w, slot := l.waiter, l.slot(before)
	if !h.enter(slot, before) {
		for depart := l.depart.Load(); depart != before; { // the slot is taken
			depart = w.While64(&l.depart, depart)
		}
		return
	}
	if l.depart.Load() == before {
		slot.awaited.CompareAndSwap(before, 0) // unless it has just been cleared
		return
	}
	for awaited := slot.awaited.Load(); awaited == before; awaited = w.While64(&slot.awaited, before) {
		if w.Tired() {
			if slot.awaited.CompareAndSwap(before, before|hapaxAsleep) {
				h.parker.Park()
			}
			return
		}
	}
}

// enter makes slot the slot of h, unless it is taken, and reserves it to store h's parker.
func (h *HapaxWorker) enter(slot *hapaxSlot, before uint64) bool {
	if !h.lock.waiter.Sleeps() {
		return slot.awaited.CompareAndSwap(0, before)
	}
	if !slot.awaited.CompareAndSwap(0, hapaxReserved) {
		return false
	}
	slot.sleeper = h.parker
	slot.awaited.Store(before)
	return true
}

// TryLock takes the lock if it is free and reports whether it did.
func (h *HapaxWorker) TryLock() bool {
	l := h.lock
	last := l.arrive.Load()
	if l.depart.Load() != last {
		return false
	}
	mine := h.next()
	if !l.arrive.CompareAndSwap(last, mine) {
		return false
	}
	h.mine = mine
	return true
}

// Unlock releases the lock to the next worker in the queue.
func (h *HapaxWorker) Unlock() {
	l := h.lock
	slot := l.slot(h.mine)
	if slot.clear(h.mine) {
		return
	}
	l.depart.Store(h.mine)
	slot.clear(h.mine) // for a waiter that came into the slot before that
}

// clear ends the wait for a value and reports whether there was a waiter.
func (s *hapaxSlot) clear(value uint64) bool {
	if s.awaited.Load() == value && s.awaited.CompareAndSwap(value, 0) {
		return true
	}
	if s.awaited.Load() != value|hapaxAsleep {
		return false
	}
	sleeper := s.sleeper // read before the slot belongs to the next waiter
	s.awaited.Store(0)
	sleeper.Unpark()
	return true
}
