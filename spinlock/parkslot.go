package spinlock

import "locklab/atomics"

// A parkSlot is where one waiter sleeps until its predecessor in a queue has
// released the lock. A predecessor that had to wait itself offers the slot while
// it waits, and then must check it when it unlocks; one that did not wait offers
// nothing, so that its Unlock is a plain store. The successor of such a
// predecessor polls. That is how a queue costs nothing where there are no waiters
// and still sends nearly all of many waiters to sleep.
//
// All that predecessor and successor agree on is one word, the park word, changed
// by one read-modify-write instruction each, so no wake-up can be lost: either the
// successor comes first and the predecessor finds it, or the slot is closed and
// the successor polls on. The release may be a plain store for the same reason: a
// waiter that polls sees it in the end, and one that sleeps has been found
// already.
//
// A slot serves many acquisitions, each with another pair; their numbers keep them
// apart. The states of the slot for acquisition n are n*slotStates plus one of the
// following.
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

// newSlots returns n closed slots.
func newSlots(n int) []parkSlot {
	s := make([]parkSlot, n)
	for i := range s {
		s[i].parker = atomics.NewParker()
	}
	return s
}

// offer lets the successor of acquisition n sleep; its owner, which waits, calls
// it. It must call close before it unlocks.
func (s *parkSlot) offer(n uint32) { s.state.Store(uint64(n)*slotStates + slotOpen) }

// sleep sleeps until acquisition n has been released and reports true; it reports
// false at once if the slot is not offered for that, or the release has begun.
func (s *parkSlot) sleep(n uint32) bool {
	open := uint64(n)*slotStates + slotOpen
	if !s.state.CompareAndSwap(open, open-slotOpen+slotTaken) {
		return false
	}
	s.parker.Park()
	return true
}

// close takes the offer back and reports whether its owner must call wake after it
// has unlocked.
func (s *parkSlot) close() (taken bool) {
	return s.state.Swap(slotClosed)%slotStates == slotTaken
}

// wake wakes the successor. By then the next acquisition may have begun, but not
// ended: it is the successor's.
func (s *parkSlot) wake() { s.parker.Unpark() }
