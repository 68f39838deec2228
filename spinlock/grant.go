package spinlock

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// A grant is the word in which one worker waits until another one, which knows
// it, gives it the lock.
//
// To give is a Swap and not a release store because it is also the check for a
// sleeper: in one instruction, no wake-up can fall between the two. Where no
// waiter of a lock sleeps, giveAwake is enough.
type grant struct {
	state  atomics.Uint32
	parker *atomics.Parker
}

// The states of a grant.
const (
	grantAwaited = 0 // also if the worker does not wait
	grantGiven   = 1
	grantAsleep  = 2 // the worker sleeps, or is about to
)

func newGrant() grant { return grant{parker: atomics.NewParker()} }

// await waits for the grant, in the way of w, and resets it.
func (g *grant) await(w waiting.Waiter) {
	g.wait(w)
	g.reset()
}

// reset makes the grant one that is awaited.
func (g *grant) reset() { g.state.StoreRelease(grantAwaited) }

// wait waits for the grant, in the way of w.
func (g *grant) wait(w waiting.Waiter) {
	for state := g.state.Load(); state != grantGiven; state = w.While(&g.state, grantAwaited) {
		if w.Tired() {
			if g.state.CompareAndSwap(grantAwaited, grantAsleep) {
				g.parker.Park()
			}
			break
		}
	}
}

// give gives the grant, and wakes the worker if it sleeps.
func (g *grant) give() {
	if g.state.Swap(grantGiven) == grantAsleep {
		g.parker.Unpark()
	}
}

// giveAwake is give for a lock none of whose waiters ever sleeps. It is a store,
// which the giver does not wait for, unlike a Swap.
func (g *grant) giveAwake() { g.state.StoreRelease(grantGiven) }

// successor returns what next becomes when it is no longer 0: the index of a
// worker that has queued up but has not said so yet. It is between its two
// instructions, so the wait is short unless it was preempted there.
func successor(next *atomics.Uint32, w waiting.Waiter) uint32 {
	for {
		if id := w.While(next, 0); id != 0 {
			return id
		}
	}
}
