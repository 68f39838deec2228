package mutex

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// PhaseFair is the ticket-based phase-fair readers-writer lock, PF-T. While both readers and
// writers wait, a phase of all readers alternates with a phase of one writer. A reader waits
// for one writer at most, and a writer for the writers before it and one phase of readers for
// each. Writers are served in order of arrival. The zero value is free.
//
// # Trade-offs
//
// No waiter starves, whatever the mix, and the bound of a reader does not grow with the number
// of writers. A reader costs two atomic additions, to one cache line on its way in and another
// on its way out. Readers on many processors share these lines: [BRAVO] avoids that. Waiters
// poll, so critical sections must be short.
//
// # Memory ordering
//
// A reader that found no writer, or saw the phase change, has loaded the value that the Add of
// the writer's Unlock stored in readersIn. A writer pairs with the Unlock before it through
// writersOut, and with the readers that it waited for through their Adds to readersOut. Only
// the holder writes writersOut, so a release store ends the Unlock: a writer that waits for it
// polls. The counters wrap; at most 2^24 - 1 readers may be inside or wait.
//
// # References
//
// Björn B. Brandenburg and James H. Anderson, "Spin-Based Reader-Writer Synchronization for
// Multiprocessor Real-Time Systems", Real-Time Systems 46(1), September 2010, pages 25-87, the
// lock PF-T. DOI 10.1007/s11241-010-9097-2. It was published first in Proceedings of the 21st
// Euromicro Conference on Real-Time Systems (ECRTS), 2009, pages 184-193.
type PhaseFair struct {
	// Wait is the policy between two polls. Set it before first use.
	Wait WaitPolicy

	// Pin is the goroutines' binding to threads: it decides how a waiter yields. Set it first.
	Pin Pin

	_          atomics.CacheLinePad
	readersIn  atomics.Uint32 // readers that arrived, in units of phaseReader, plus the writer's bits
	_          atomics.CacheLinePad
	readersOut atomics.Uint32 // readers that left, in the same units
	_          atomics.CacheLinePad
	writersIn  atomics.Uint32 // the number that the next writer draws
	_          atomics.CacheLinePad
	writersOut atomics.Uint32 // the number of the writer that may enter
	_          atomics.CacheLinePad
}

// The parts of PhaseFair.readersIn.
const (
	phaseNumber = 1 // the last bit of the writer's number: two in a row differ
	phaseWriter = 2 // a writer is inside, or waits for readers to leave
	phaseBits   = phaseNumber | phaseWriter
	phaseReader = 1 << 8
)

// RLock takes the lock as a reader and waits for a writer if need be.
func (l *PhaseFair) RLock() {
	if phase := (l.readersIn.Add(phaseReader)) & phaseBits; phase != 0 {
		l.rLockSlow(phase)
	}
}

func (l *PhaseFair) rLockSlow(phase uint32) {
	for w := waiting.New(l.Wait, l.Pin); l.readersIn.Load()&phaseBits == phase; {
		w.Wait()
	}
}

// RUnlock releases the lock, which the caller must hold as a reader.
func (l *PhaseFair) RUnlock() { l.readersOut.Add(phaseReader) }

// Lock takes the lock as a writer and waits for it if need be.
func (l *PhaseFair) Lock() {
	mine := l.writersIn.Add(1) - 1
	if l.writersOut.Load() != mine {
		awaitWord(&l.writersOut, mine, waiting.New(l.Wait, l.Pin))
	}
	bits := phaseWriter | mine&phaseNumber
	// Later readers wait for this writer; before counts the earlier ones.
	before := l.readersIn.Add(bits) - bits
	if l.readersOut.Load() != before {
		awaitWord(&l.readersOut, before, waiting.New(l.Wait, l.Pin))
	}
}

func awaitWord(word *atomics.Uint32, value uint32, w waiting.Waiter) {
	for word.Load() != value {
		w.Wait()
	}
}

// Unlock releases the lock, which the caller must hold as a writer. Waiting readers go first.
func (l *PhaseFair) Unlock() {
	mine := l.writersOut.Load()
	// The bits must be cleared before the next writer may add its own.
	l.readersIn.Add(-(phaseWriter | mine&phaseNumber))
	l.writersOut.StoreRelease(mine + 1)
}
