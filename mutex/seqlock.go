package mutex

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// SeqLock is a sequence lock: a counter that is odd while a writer is inside. A reader
// notes the counter, reads, and loads it again: if it has changed, the data may be torn
// and the reader discards it. Writers exclude each other as with a test-and-test-and-set
// lock, and never wait for a reader. Service is in no order, and a waiter may starve: see
// the package comment. The zero value is free. A reader loops:
//
//	for {
//		v := l.ReadBegin()
//		x, y := point.x.Load(), point.y.Load() // atomically, see below
//		if !l.ReadRetry(v) {
//			return x, y
//		}
//	}
//
// # Trade-offs
//
// No read is cheaper: two loads of a word that stays in the reader's cache while there is
// no writer. It suits a few words that are read all the time and written seldom. Readers
// may run at the same time as a writer and see torn data. Before ReadRetry they must not
// follow a pointer, loop or divide by data that they have read. A reader can starve while
// writers come without a gap.
//
// The guarded words must be read atomically and written atomically, also by writers,
// which hold the lock: a plain access at the same time as another access is a data race,
// which the race detector reports, and after which Go promises little. So in Go the data
// is the costly part: each atomic store of a writer is a full fence on amd64.
//
// # Memory ordering
//
// Readers: the loads of the data are sequentially consistent, so they stay between the
// two loads of the counter. If one of them has seen a writer's store, the second load of
// the counter sees that writer's number, since the counter became odd before it. Boehm
// shows that with weaker loads the second load could pass the data, as in most sequence
// locks. Writers: the CompareAndSwap that makes the counter odd pairs with the release
// store of the Unlock before it. No waiter sleeps.
//
// # References
//
// Christoph Lameter, "Effective Synchronization on Linux/NUMA Systems", Gelato
// Federation meeting, May 2005: the section on sequence locks.
//
// Hans-J. Boehm, "Can Seqlocks Get Along with Programming Language Memory
// Models?", ACM SIGPLAN Workshop on Memory Systems Performance and Correctness
// (MSPC), 2012, pages 12-20, sections 3 and 4. DOI 10.1145/2247684.2247688.
type SeqLock struct {
	// Wait is the policy between two polls. Set it before first use.
	Wait WaitPolicy

	// Pin is the goroutines' binding to threads: it decides how a waiter yields. Set it first.
	Pin Pin

	_       atomics.CacheLinePad
	version atomics.Uint64 // odd while a writer is inside
	_       atomics.CacheLinePad
}

// ReadBegin starts a read: it waits for a writer inside and returns the version for ReadRetry.
func (l *SeqLock) ReadBegin() uint64 {
	v := l.version.Load()
	if v&1 != 0 {
		v = l.readSlow()
	}
	return v
}

func (l *SeqLock) readSlow() uint64 {
	for w := waiting.New(l.Wait, l.Pin); ; {
		w.Wait()
		if v := l.version.Load(); v&1 == 0 {
			return v
		}
	}
}

// ReadRetry reports whether a writer came since ReadBegin: then the data read is worthless.
func (l *SeqLock) ReadRetry(version uint64) bool { return l.version.Load() != version }

// Lock takes the lock as a writer and waits for other writers if need be.
func (l *SeqLock) Lock() {
	if !l.TryLock() {
		l.lockSlow()
	}
}

func (l *SeqLock) lockSlow() {
	for w := waiting.New(l.Wait, l.Pin); !l.TryLock(); {
		w.Wait()
	}
}

// TryLock takes the lock as a writer if no other writer is inside, and reports whether it did.
func (l *SeqLock) TryLock() bool {
	v := l.version.Load()
	return v&1 == 0 && l.version.CompareAndSwap(v, v+1)
}

// Unlock releases the lock, which the caller must hold as a writer.
func (l *SeqLock) Unlock() { l.version.StoreRelease(l.version.Load() + 1) }
