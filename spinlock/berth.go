package spinlock

import "locklab/atomics"

// A berth is where one goroutine sleeps until the one before it in a queue is
// done, its host. A host that had to wait itself offers the berth while it
// waits, and then must look into it when it unlocks; one that did not wait
// offers nothing, so that its Unlock is a plain store. The guest of such a host
// polls. That is how a queue costs nothing where nobody waits and still sends
// nearly everybody to sleep in a crowd.
//
// All that host and guest agree on is one word, changed by one
// read-modify-write instruction each, so no wake-up can be lost: either the
// guest comes first and the host finds it, or the berth is closed and the guest
// polls on. The release may be a plain store for the same reason: whoever polls
// sees it in the end, and whoever sleeps has been found already.
//
// A berth serves many turns, each with another pair; turn keeps them apart. The
// states of a turn are turn*berthStates plus one of the following.
type berth struct {
	state  atomics.Uint64
	parker *atomics.Parker
	_      atomics.CacheLinePad
}

const (
	berthClosed = 0 // of no turn: nobody may lie down
	berthOpen   = 1 // the host will look
	berthTaken  = 2 // a guest sleeps, or is about to

	berthStates = 4
)

// newBerths returns n closed berths.
func newBerths(n int) []berth {
	bs := make([]berth, n)
	for i := range bs {
		bs[i].parker = atomics.NewParker()
	}
	return bs
}

// offer lets a guest lie down, for the host of that turn, who waits. The host
// must call close before it unlocks.
func (b *berth) offer(turn uint32) { b.state.Store(uint64(turn)*berthStates + berthOpen) }

// sleep sleeps until the host of that turn has unlocked and reports true; it
// reports false at once if the host has not offered that, or is unlocking.
func (b *berth) sleep(turn uint32) bool {
	open := uint64(turn)*berthStates + berthOpen
	if !b.state.CompareAndSwap(open, open-berthOpen+berthTaken) {
		return false
	}
	b.parker.Park()
	return true
}

// close takes the offer back, for the host, and reports whether it must call
// wake after it has unlocked.
func (b *berth) close() (taken bool) {
	return b.state.Swap(berthClosed)%berthStates == berthTaken
}

// wake wakes the guest. By then the next turn may have begun, but not ended:
// the guest is part of it.
func (b *berth) wake() { b.parker.Unpark() }
