package lab

import (
	"github.com/puzpuzpuz/xsync/v4"

	"locklab/atomics"
	"locklab/harness"
)

// rbMutex is the reader-biased lock of the package xsync: BRAVO over a sync.RWMutex.
//
// # Trade-offs
//
// A reader gets a token from a sync.Pool, which has one for each processor, and sets a slot of
// the lock by it. So reading gets faster with every processor, but RUnlock needs the token of
// RLock. A writer closes the slots for a multiple of the time for which it waited for readers.
// A token is allocated if the pool is empty.
//
// # Memory ordering
//
// As for sync.RWMutex: a reader sets its slot and then loads the bias, a writer the reverse.
//
// # References
//
// Andrei Pechkurov, xsync, type RBMutex (v4.5.0), https://github.com/puzpuzpuz/xsync, after
// Dave Dice and Alex Kogan, "BRAVO - Biased Locking for Reader-Writer Locks", 2019.
var rbMutex = blocking("xsync-rbmutex", "RBMutex of puzpuzpuz/xsync: readers bypass sync.RWMutex by a slot, and carry a token",
	"puzpuzpuz/xsync", notJudged, harness.Traits{Handles: true, Bounded: true, ReadWrite: true, Allocates: true},
	func(harness.Setup) harness.Local { return harness.Handles(rbLock{xsync.NewRBMutex()}) })

type rbLock struct{ *xsync.RBMutex }

func (l rbLock) Worker(int) *rbWorker { return &rbWorker{RBMutex: l.RBMutex} }

type rbWorker struct {
	*xsync.RBMutex
	token *xsync.RToken
	_     atomics.CacheLinePad
}

func (w *rbWorker) RLock()   { w.token = w.RBMutex.RLock() }
func (w *rbWorker) RUnlock() { w.RBMutex.RUnlock(w.token) }
