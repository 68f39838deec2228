//go:build systematic

package explore_test

import (
	"sync"

	"locklab/atomics"
	"locklab/harness"
)

// A bug of queues whose waiters sleep in a bed of who is ahead of them.
const sharedBed bug = "wakes who sleeps in its bed at a place that the next guest sleeps in too"

// bedFree is less than what stands for any worker, its index and one more.
const bedFree = 1

// beds is CLH by turns with waiters that sleep: who has to wait itself offers its
// successor a bed, a turn and who sleeps until it is over. Its owner may offer it
// again before its last guest is up.
type beds struct {
	bug     bug
	done    []atomics.Uint32 // turns of each worker that are over
	offered []atomics.Uint64
	parkers []*atomics.Parker
	tail    atomics.Uint64
}

func newBeds(n int, b bug) harness.Local {
	l := &beds{bug: b, done: make([]atomics.Uint32, n+1), offered: make([]atomics.Uint64, n+1)}
	for range n + 1 {
		l.parkers = append(l.parkers, atomics.NewParker())
	}
	return perWorker(func(i int) sync.Locker {
		me, hosts := i+1, false
		return funcs{
			lock:   func() { hosts = l.lock(me) },
			unlock: func() { l.unlock(me, hosts) },
		}
	})
}

// lock takes the lock and reports whether me has offered its bed.
func (l *beds) lock(me int) bool {
	mine := l.done[me].Load() + 1
	seen := l.tail.Swap(uint64(me)<<32 | uint64(mine))
	ahead, turn := int(seen>>32), uint32(seen)
	if l.done[ahead].Load() == turn {
		return false
	}
	l.offered[me].Store(uint64(mine)<<32 | bedFree)
	free := uint64(turn)<<32 | bedFree
	for l.done[ahead].Load() != turn {
		if !l.offered[ahead].CompareAndSwap(free, uint64(turn)<<32|uint64(me+bedFree)) {
			atomics.SpinHint(1)
			continue
		}
		if l.bug == sharedBed {
			l.parkers[ahead].Park()
		} else {
			l.parkers[me].Park()
		}
	}
	return true
}

func (l *beds) unlock(me int, hosts bool) {
	var guest uint32
	if hosts {
		guest = uint32(l.offered[me].Swap(0))
	}
	l.done[me].AddRelease(1)
	switch {
	case guest <= bedFree:
	case l.bug == sharedBed:
		l.parkers[me].Unpark()
	default:
		l.parkers[guest-bedFree].Unpark()
	}
}
