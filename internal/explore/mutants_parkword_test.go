//go:build systematic

package explore_test

import (
	"sync"

	"locklab/atomics"
	"locklab/harness"
)

// A bug of a CLH lock whose waiters sleep until a word of the predecessor's node changes. A waiter
// that sleeps after the node was left is no bug: at worst it wakes another.
const offerStays bug = "reads its offer at the release, and leaves it open"

// Values of a park word; what is more stands for the worker that sleeps.
const (
	parkOffered = 1
	parkSleeper = 2
)

// parkWords is CLH with waiters that sleep: a worker that has to wait itself offers its
// successor the park word of its node, which it leaves to that by its release.
type parkWords struct {
	bug     bug
	busy    []atomics.Uint32 // by node
	park    []atomics.Uint32
	parkers []*atomics.Parker // by worker
	tail    atomics.Uint32
}

func newParkWords(n int, b bug) harness.Local {
	l := &parkWords{bug: b, busy: make([]atomics.Uint32, n+1), park: make([]atomics.Uint32, n+1)}
	for range n {
		l.parkers = append(l.parkers, atomics.NewParker())
	}
	return perWorker(func(me int) sync.Locker {
		node, pred, offered := uint32(me)+1, uint32(0), false
		return funcs{
			lock: func() { pred, offered = l.lock(me, node) },
			unlock: func() {
				l.unlock(node, offered)
				node = pred
			},
		}
	})
}

// lock takes the lock by node, and returns the node ahead and whether its park word is offered.
func (l *parkWords) lock(me int, node uint32) (pred uint32, offered bool) {
	l.busy[node].StoreRelease(1)
	pred = l.tail.Swap(node)
	if l.busy[pred].Load() == 0 {
		return pred, false
	}
	l.park[node].Store(parkOffered)
	for l.busy[pred].Load() != 0 {
		if l.park[pred].CompareAndSwap(parkOffered, parkSleeper+uint32(me)) {
			l.parkers[me].Park()
		} else {
			atomics.SpinHint(1)
		}
	}
	return pred, true
}

func (l *parkWords) unlock(node uint32, offered bool) {
	var sleeper uint32
	switch {
	case !offered:
	case l.bug == offerStays:
		sleeper = l.park[node].Load()
	default:
		sleeper = l.park[node].Swap(0)
	}
	l.busy[node].StoreRelease(0)
	if sleeper >= parkSleeper {
		l.parkers[sleeper-parkSleeper].Unpark()
	}
}
