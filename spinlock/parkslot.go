package spinlock

import "locklab/atomics"

// A parkSlot is a place in which one waiter sleeps until its predecessor in a queue has
// released the lock. A predecessor that had to wait offers the slot while it waits, and must
// check it when it unlocks. A predecessor that did not wait offers nothing, so its Unlock is a
// plain store, and its successor polls. With many waiters nearly all sleep.
//
// Predecessor and successor share one word, the park word, and each changes it by one
// read-modify-write instruction. So no wake-up can be lost: either the successor comes first
// and the predecessor finds it, or the slot is closed and the successor continues to poll.
//
// A slot serves many acquisitions, each with another pair of workers; their numbers distinguish
// them. The states of the slot for acquisition n are n*slotStates plus one of the following.
type parkSlot struct {
	state  atomics.Uint64
	parker *atomics.Parker
	_      atomics.CacheLinePad
}

const (
	slotClosed = 0 // for any acquisition: no waiter may sleep here
	slotOpen   = 1 // the predecessor will check
	slotTaken  = 2 // the successor sleeps, or is about to

	slotStates = 4
)

func newSlots(n int) []parkSlot {
	s := make([]parkSlot, n)
	for i := range s {
		s[i].parker = atomics.NewParker()
	}
	return s
}

// offer lets the successor of acquisition n sleep; the owner must close before it unlocks.
func (s *parkSlot) offer(n uint32) { s.state.Store(uint64(n)*slotStates + slotOpen) }

// sleep sleeps until acquisition n has been released and reports true. It reports false
// at once if the slot is not offered for n or the release has begun.
func (s *parkSlot) sleep(n uint32) bool {
	open := uint64(n)*slotStates + slotOpen
	if !s.state.CompareAndSwap(open, open-slotOpen+slotTaken) {
		return false
	}
	s.parker.Park()
	return true
}

func (s *parkSlot) close() (taken bool) {
	return s.state.Swap(slotClosed)%slotStates == slotTaken
}

// wake wakes the successor, whose acquisition may have begun by then, but has not ended.
func (s *parkSlot) wake() { s.parker.Unpark() }
