package lab

import (
	"sync"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/waiting"
	"locklab/spinlock"
)

var peterson = spin("peterson", "two workers, loads and stores only, and one fence",
	"Peterson 1981", notJudged, harness.Traits{Handles: true, FIFO: true, Doorway: true, MaxWorkers: 2},
	func(s harness.Setup) harness.Local { return newPeterson(s, true) })

var petersonNoFence = withoutFence(spin("peterson-nofence", "peterson without its fence: the store buffer lets both in",
	"Peterson 1981", notJudged, harness.Traits{Handles: true, FIFO: true, Doorway: true, MaxWorkers: 2},
	func(s harness.Setup) harness.Local { return newPeterson(s, false) }))

// petersonLock is Peterson's algorithm for two. A worker announces that it wants the lock and
// lets the other go first. It waits while the other wants the lock and it is the other's turn.
//
// # Trade-offs
//
// It shows the use of compare-and-swap: it needs none, but it serves only two workers, known
// beforehand. On a machine whose stores wait in a buffer it needs a fence, which costs as much
// as the compare-and-swap that it avoids.
//
// # Memory ordering
//
// A worker's two stores must be visible before it reads the other's flag. A load may pass an
// earlier store to another word even on amd64. If both workers read too early, both see a flag
// of 0 and enter. The second store is a Store, sequentially consistent, an XCHG on amd64. It
// orders the first store too, because stores leave the buffer in order. peterson-nofence makes
// it a release store: a plain MOV.
//
// # References
//
// Gary L. Peterson, "Myths About the Mutual Exclusion Problem", Information Processing Letters
// 12(3), June 1981, pages 115-116, figure 1. DOI 10.1016/0020-0190(81)90106-X.
//
// Intel SDM, volume 3A, section "Loads May Be Reordered with Earlier Stores to Different
// Locations".
type petersonLock struct {
	options spinlock.Options
	fence   bool
	workers [2]petersonWorker

	_    atomics.CacheLinePad
	turn atomics.Uint32 // the worker that goes first if both want the lock
	_    atomics.CacheLinePad
}

type petersonWorker struct {
	lock  *petersonLock
	other uint32
	_     atomics.CacheLinePad
	wants atomics.Uint32 // 1 from before this worker reads the other's flag until it unlocks
	_     atomics.CacheLinePad
}

func newPeterson(s harness.Setup, fence bool) *petersonLock {
	l := &petersonLock{options: options(s), fence: fence}
	for i := range l.workers {
		l.workers[i].lock, l.workers[i].other = l, uint32(1-i)
	}
	return l
}

func (l *petersonLock) Worker(i int) sync.Locker { return &l.workers[i] }

func (h *petersonWorker) Lock() {
	l := h.lock
	// Nothing comes between the stores and the loads. Without the fence a delay would
	// give the store buffer time to empty, and hide the fault.
	w := waiting.New(l.options.Wait, l.options.Pin)
	h.wants.StoreRelease(1)
	if l.fence {
		l.turn.Store(h.other)
	} else {
		l.turn.StoreRelease(h.other)
	}
	rival := &l.workers[h.other].wants
	for rival.Load() != 0 && l.turn.Load() == h.other {
		w.Wait()
	}
}

func (h *petersonWorker) Unlock() { h.wants.StoreRelease(0) }
