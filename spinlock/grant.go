package spinlock

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// A grant is a word for one worker to wait in until another worker gives it the lock.
//
// To give is a Swap and not a release store because it also checks for a sleeper. In one
// instruction, no wake-up can be lost between the two. If no waiter of a lock sleeps,
// giveAwake is enough.
type grant struct {
	state  atomics.Uint32
	parker *atomics.Parker
}

const (
	grantAwaited = 0 // also if the worker does not wait
	grantGiven   = 1
	grantAsleep  = 2 // the worker sleeps, or is about to
)

func newGrant() grant { return grant{parker: atomics.NewParker()} }

func (g *grant) await(w waiting.Waiter) {
	g.wait(w)
	g.reset()
}

func (g *grant) reset() { g.state.StoreRelease(grantAwaited) }

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

func (g *grant) give() {
	if g.state.Swap(grantGiven) == grantAsleep {
		g.parker.Unpark()
	}
}

// giveAwake is give for a lock whose waiters never sleep. It is a store: unlike a Swap,
// the giver does not wait for it.
func (g *grant) giveAwake() { g.state.StoreRelease(grantGiven) }

// successor returns next when it is no longer 0: a worker that swapped the tail has linked
// itself, soon unless it is preempted in between.
func successor(next *atomics.Uint32, w waiting.Waiter) uint32 {
	for {
		if id := w.While(next, 0); id != 0 {
			return id
		}
	}
}
