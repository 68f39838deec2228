//go:build systematic

package explore_test

import (
	"sync"

	"locklab/atomics"
	"locklab/harness"
)

// A bug of queues whose waiters sleep until a word of their predecessor is changed.
const sharedParker bug = "wakes its successor by a parker that the next successor sleeps at too"

// parkFree is less than what stands for any worker, its index and one more.
const parkFree = 1

// parkWords is CLH by numbers with waiters that sleep: a worker that has to wait
// itself offers its successor a park word, the number of an acquisition and the one
// that sleeps until it is over. It may offer that again before the one that slept is
// awake.
type parkWords struct {
	bug     bug
	done    []atomics.Uint32 // number of acquisitions of each worker that are over
	offered []atomics.Uint64
	parkers []*atomics.Parker
	tail    atomics.Uint64
}

func newParkWords(n int, b bug) harness.Local {
	l := &parkWords{bug: b, done: make([]atomics.Uint32, n+1), offered: make([]atomics.Uint64, n+1)}
	for range n + 1 {
		l.parkers = append(l.parkers, atomics.NewParker())
	}
	return perWorker(func(i int) sync.Locker {
		me, offered := i+1, false
		return funcs{
			lock:   func() { offered = l.lock(me) },
			unlock: func() { l.unlock(me, offered) },
		}
	})
}

// lock takes the lock and reports whether me has offered its park word.
func (l *parkWords) lock(me int) bool {
	mine := l.done[me].Load() + 1
	seen := l.tail.Swap(uint64(me)<<32 | uint64(mine))
	ahead, number := int(seen>>32), uint32(seen)
	if l.done[ahead].Load() == number {
		return false
	}
	l.offered[me].Store(uint64(mine)<<32 | parkFree)
	free := uint64(number)<<32 | parkFree
	for l.done[ahead].Load() != number {
		if !l.offered[ahead].CompareAndSwap(free, uint64(number)<<32|uint64(me+parkFree)) {
			atomics.SpinHint(1)
			continue
		}
		if l.bug == sharedParker {
			l.parkers[ahead].Park()
		} else {
			l.parkers[me].Park()
		}
	}
	return true
}

func (l *parkWords) unlock(me int, offered bool) {
	var sleeper uint32
	if offered {
		sleeper = uint32(l.offered[me].Swap(0))
	}
	l.done[me].AddRelease(1)
	switch {
	case sleeper <= parkFree:
	case l.bug == sharedParker:
		l.parkers[me].Unpark()
	default:
		l.parkers[sleeper-parkFree].Unpark()
	}
}
