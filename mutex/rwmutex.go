package mutex

import (
	"context"
	"sync"

	"locklab/atomics"
)

// RWMutex is a readers-writer lock that a program can use in place of a [sync.RWMutex]. The
// zero value is free. Any goroutine may call RUnlock for the one that called RLock. While a
// writer waits for the readers inside, no more readers enter. The readers that have to wait
// enter together, after that writer and before the next one. If one of them has yet to run, an
// arriving reader may enter in its place, so that the next writer need not wait for the
// scheduler. A reader loses at most 255 places. So neither side starves.
//
// # Trade-offs
//
// Readers count themselves in the word that holds the writer bit, the first slot. If many
// collide on it, more than one for each 32 writers, the lock allocates slots, four cache lines
// for each processor, up to 64, and readers count themselves there. Then reading gets faster
// with every processor, but a writer reads all slots. The slots stay. Without slots, a reader
// that meets a writer sleeps at once; with slots, writers are rare, and it polls before. If most
// acquisitions write, [Mutex] is faster. Bubbles of testing/synctest: see [Mutex].
//
// Only the sum of the slots counts, so a reader may leave on another slot than it entered on,
// and needs no handle.
//
// # Memory ordering
//
// All operations are sequentially consistent. A reader adds 1 to a slot, and then loads the
// writer bit. It is inside if the bit is clear. Otherwise it is diverted: it subtracts 1 from the
// same slot and waits. A reader inside subtracts 1 from any slot when it leaves. On the first
// slot one operation changes the number and loads the bit.
//
// A writer sets the bit, and then loads each slot once. Every reader that is inside loaded the
// clear bit after its addition, so the addition came before the bit, and the pass over the
// slots counts it. The pass may miss or count the subtraction on another slot, but it counts
// none without the addition. A reader that was diverted adds and subtracts on one slot, so the
// pass counts 1 or 0 for it, never -1. Therefore the sum is never less than the number of
// readers that are inside at the end of the pass, and no reader is inside if it is 0.
//
// A reader that subtracts 1 from a slot loads the writer bit afterwards. If the bit is set, it
// subtracts 1 from pending, which is above 0 only while a writer sleeps. A writer that finds
// readers adds the sum of its pass to pending. As many readers as this sum subtract from
// pending after the pass looked at their slots. So if pending is above 0 after the addition,
// exactly one subtraction makes it 0, and this reader wakes the writer. A reader that the pass
// did not count makes the wake-up early: then the writer repeats the pass.
//
// A writer that lets readers in adds their number to a slot and then to places. A reader that
// subtracts 1 from places is inside. Each that was let in tries once, then places is 0.
//
// The list of waiting readers is guarded by the queue bit. No writer sets its bit while
// another goroutine has the queue bit, so a reader with it may enter if there is no writer.
//
// # References
//
// Slots for readers: Dave Dice and Alex Kogan, "BRAVO - Biased Locking for Reader-Writer
// Locks", USENIX Annual Technical Conference (ATC), 2019. arXiv 1810.01553.
//
// Only the sum of the slots counts: percpu_rw_semaphore in the Linux kernel,
// kernel/locking/percpu-rwsem.c.
type RWMutex struct {
	writers    Mutex          // guards the writer bit and the making of slots
	state      rwState        // the parts below
	places     atomics.Uint32 // readers counted inside that have yet to run, and may lose their place
	spread     atomics.Uint32 // 1 if readers use slots: a load of the state would delay the addition
	pending    atomics.Uint32 // if above 0, readers that must leave before the writer wakes
	collisions rwCount        // rwCollision for each collision on the first slot, less 1 for each writer
	waiters    mutexRing      // readers; guarded by rwQueue
	writer     *mutexWaiter   // the writer that waits for readers
	slots      []rwSlot       // set before spread
}

// The parts of RWMutex.state.
const (
	rwInside  = 1       // one reader on the first slot
	rwWaiting = 1 << 32 // one reader in the list
	rwQueue   = 1 << 62 // a goroutine changes the list
	rwWriter  = 1 << 63 // a writer is inside, or waits for readers to leave
)

// rwHints is the number of spin hints before each poll of a waiter.
const rwHints = 5

// An rwSlot counts readers. It may be below 0, modulo 1<<32: only the sum counts.
type rwSlot struct {
	rwCount
	_ [atomics.CacheLine - 4]byte
}

// RLock takes the lock as a reader, and waits for a writer if need be. It is not reentrant.
func (l *RWMutex) RLock() {
	if l.spread.Load() != 0 {
		if !l.TryRLock() {
			l.rLockSlow(nil)
		}
	} else if s := l.state.Add(rwInside); s != rwInside && !l.entered(s) {
		l.rLockSlow(nil)
	}
}

// RLockContext is RLock that gives up when ctx ends, at once if it has, with [context.Cause].
func (l *RWMutex) RLockContext(ctx context.Context) error {
	if ctx.Err() != nil || !l.TryRLock() && !l.rLockSlow(ctx.Done()) {
		return context.Cause(ctx)
	}
	return nil
}

// TryRLock reports whether it took the lock as a reader, past no writer inside or waiting.
func (l *RWMutex) TryRLock() bool {
	if l.state.Load()&rwWriter != 0 {
		return false
	}
	if l.spread.Load() == 0 {
		return l.entered(l.state.Add(rwInside))
	}
	slot := l.slot()
	slot.Add(1)
	if l.state.Load()&rwWriter == 0 {
		return true
	}
	slot.Add(^uint32(0))
	l.left()
	return false
}

// entered reports whether a reader whose addition to the first slot made the state s is inside.
// Otherwise it takes the reader off again.
func (l *RWMutex) entered(s uint64) bool {
	if s&rwWriter == 0 {
		if s != rwInside && !l.state.CompareAndSwap(s, s) { // a load is too soon to find another reader
			l.collide()
		}
		return true
	}
	if s = l.state.Add(^uint64(rwInside - 1)); s&(rwWriter|1<<31) != 0 {
		l.leftFirst(s)
	}
	return false
}

// RUnlock releases the lock for one reader. If no reader is inside, it panics, or a later RLock
// or Lock does.
func (l *RWMutex) RUnlock() {
	if l.spread.Load() == 0 {
		if s := l.state.Add(^uint64(rwInside - 1)); s&(rwWriter|1<<31) != 0 {
			l.leftFirst(s)
		}
	} else if l.slot().Add(^uint32(0)); l.state.Load()&rwWriter != 0 {
		l.left()
	}
}

// RLocker returns a [sync.Locker] whose methods are RLock and RUnlock of l.
func (l *RWMutex) RLocker() sync.Locker { return (*rwReader)(l) }

type rwReader RWMutex

func (l *rwReader) Lock()   { (*RWMutex)(l).RLock() }
func (l *rwReader) Unlock() { (*RWMutex)(l).RUnlock() }

// Lock takes the lock as a writer and waits for it if need be.
func (l *RWMutex) Lock() {
	l.writers.Lock()
	if l.slots == nil && l.state.CompareAndSwap(0, rwWriter) {
		return
	}
	if l.shut() != 0 {
		l.drain(nil)
	}
}

// TryLock takes the lock as a writer if it is free, and reports whether it did.
func (l *RWMutex) TryLock() bool {
	if !l.writers.TryLock() {
		return false
	}
	if l.shut() == 0 {
		return true
	}
	l.Unlock()
	return false
}

// LockContext is Lock that gives up when ctx ends, at once if it has, with [context.Cause].
func (l *RWMutex) LockContext(ctx context.Context) error {
	if err := l.writers.LockContext(ctx); err != nil {
		return err
	}
	if l.shut() != 0 && !l.drain(ctx.Done()) {
		l.Unlock()
		return context.Cause(ctx)
	}
	return nil
}

// Unlock releases the lock for the writer. It panics if there is none.
func (l *RWMutex) Unlock() {
	if l.collisions.Load() != 0 || !l.state.CompareAndSwap(rwWriter, 0) {
		l.unlockSlow()
	}
	l.writers.Unlock()
}

func (l *RWMutex) unlockSlow() {
	l.pending.Store(0) // or readers that were diverted count it down until it wraps
	if c := l.collisions.Load(); c >= rwCollisions {
		l.makeSlots()
	} else if c != 0 {
		l.collisions.CompareAndSwap(c, c-1)
	}
	if s := l.calm(); !l.state.CompareAndSwap(s|rwWriter, s) {
		l.admit()
	}
}

// calm returns the state without a writer and a list. The caller holds l.writers.
func (l *RWMutex) calm() uint64 {
	if l.slots == nil {
		return 0
	}
	return l.state.Load() % rwWaiting
}

func (l *RWMutex) slot() *rwCount { return &l.slots[atomics.Lane(len(l.slots))].rwCount }

// collide makes slots after many collisions, or leaves that to the writer.
func (l *RWMutex) collide() {
	if l.collisions.Add(rwCollision) >= rwCollisions && l.writers.TryLock() {
		l.makeSlots()
		l.writers.Unlock()
	}
}

// The caller holds l.writers.
func (l *RWMutex) makeSlots() {
	if l.slots == nil {
		l.slots = make([]rwSlot, rwSlots())
		l.spread.Store(1)
	}
}

// shut sets the writer bit, and returns the number of readers inside. The caller holds
// l.writers.
func (l *RWMutex) shut() uint32 {
	for s, polls := l.calm(), 0; ; s = l.state.Load() {
		if s&rwQueue != 0 {
			polls = waitForQueue(polls) // a reader has it
		} else if l.state.CompareAndSwap(s, s|rwWriter) {
			if l.slots == nil {
				return uint32(s)
			}
			return l.inside()
		}
	}
}

// The caller has set the writer bit.
func (l *RWMutex) inside() uint32 {
	n := uint32(l.state.Load())
	for i := range l.slots {
		n += l.slots[i].Load()
	}
	return n
}

// drain waits for the readers inside. It returns false if done was closed before.
func (l *RWMutex) drain(done <-chan struct{}) bool {
	atomics.SpinHint(rwHints)
	l.writer = newMutexWaiter(done)
	defer l.writer.free()
	l.pending.Store(0)
	for {
		n := l.inside()
		if n == 0 {
			return true
		}
		if int32(n) < 0 {
			l.Unlock()
			panic("mutex: RUnlock of an RWMutex without a reader")
		}
		if int32(l.pending.Add(n)) <= 0 || l.writer.parker.ParkUntil(done) {
			continue
		}
		if int32(l.pending.Swap(0)) <= 0 {
			l.writer.parker.Park() // the permit is on the way
		}
		return false
	}
}

// left notes a subtraction while the writer bit was set; the last one wakes the writer.
func (l *RWMutex) left() {
	if l.pending.Add(^uint32(0)) == 0 {
		l.writer.parker.Unpark()
	}
}

// leftFirst is left after a subtraction from the first slot that made the state s.
func (l *RWMutex) leftFirst(s uint64) {
	if int32(s) < 0 { // there was no reader, so it may have borrowed the writer bit
		l.state.Add(rwInside)
		panic("mutex: RUnlock of an RWMutex without a reader")
	}
	l.left()
}
