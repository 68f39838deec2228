//go:build systematic

package atomics

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// An Op is an operation that a [Scheduler] performs.
type Op uint8

// The operations. The first six are methods of [Uint32] and [Uint64]. A [Parker] consists
// of these and of the two after OpSpin.
const (
	OpLoad Op = iota
	OpStore
	OpStoreRelease
	OpCompareAndSwap
	OpSwap
	OpAdd
	OpSpin    // SpinHint: the goroutine waits for another one
	OpAcquire // a Parker's sleep: wait until the word is above 0, and take 1
	OpRelease // the end of a Parker's sleep: add 1
	OpRandom  // Random, in the build with the tag simulate: a number below New, on no word
	OpLane    // Lane: the number of the worker, from 0, on no word
	OpNow     // Now: the time of a model in ns, or 0, on no word
)

var opNames = [...]string{
	"Load", "Store", "StoreRelease", "CompareAndSwap", "Swap", "Add", "SpinHint", "Acquire", "Release", "Random", "Lane", "Now",
}

// String returns the name of the method or function.
func (op Op) String() string {
	if int(op) < len(opNames) {
		return opNames[op]
	}
	return fmt.Sprintf("Op(%d)", uint8(op))
}

// A Word names a word. Two Words are equal if they name the same one. The zero Word names
// no word. A Word keeps its word at its address, so that one address stays one word.
type Word struct {
	u32 *atomic.Uint32
	u64 *atomic.Uint64
}

func word32(p *atomic.Uint32) Word { return Word{u32: p} }
func word64(p *atomic.Uint64) Word { return Word{u64: p} }

// Get returns the value.
func (w Word) Get() uint64 {
	switch {
	case w.u32 != nil:
		return uint64(w.u32.Load())
	case w.u64 != nil:
		return w.u64.Load()
	}
	return 0
}

// Set sets the value to v, modulo 1<<32 for a [Uint32].
func (w Word) Set(v uint64) {
	switch {
	case w.u32 != nil:
		w.u32.Store(uint32(v))
	case w.u64 != nil:
		w.u64.Store(v)
	}
}

func (w Word) compareAndSwap(old, new uint64) bool {
	if w.u32 != nil {
		return w.u32.CompareAndSwap(uint32(old), uint32(new))
	}
	return w.u64.CompareAndSwap(old, new)
}

// Address returns the address of the word, also of its [Uint32] or [Uint64].
func (w Word) Address() uintptr {
	if w.u32 != nil {
		return uintptr(unsafe.Pointer(w.u32))
	}
	return uintptr(unsafe.Pointer(w.u64))
}

// An Access is one operation on one word that has not happened yet.
type Access struct {
	Op   Op
	Word Word   // the zero Word for OpSpin
	Old  uint64 // the value that OpCompareAndSwap expects
	New  uint64 // the value that the operation stores or adds; for OpSpin the number of hints, 0 for a yield
}

// After returns the value of the word after the access, if the access finds before in it.
func (a Access) After(before uint64) uint64 {
	after := before
	switch a.Op {
	case OpStore, OpStoreRelease, OpSwap:
		after = a.New
	case OpCompareAndSwap:
		if before == a.Old {
			after = a.New
		}
	case OpAdd:
		after = before + a.New
	case OpAcquire:
		after = before - 1
	case OpRelease:
		after = before + 1
	}
	if a.Word.u32 != nil {
		after = uint64(uint32(after))
	}
	return after
}

// A Scheduler performs the operations on words in place of the CPU. It is called on the
// goroutine of the operation. It returns after the operation, with the value that the
// operation found in the word. So it orders the operations of several goroutines by letting
// its calls return one at a time. The simplest one performs the operation at once:
//
//	func(a Access) uint64 {
//		before := a.Word.Get()
//		a.Word.Set(a.After(before))
//		return before
//	}
//
// It must not perform an OpAcquire that finds 0.
type Scheduler func(a Access) (before uint64)

var scheduler atomic.Pointer[Scheduler]

// SetScheduler makes s perform the operations on all words, in every goroutine of the process,
// until restore brings the previous scheduler back. With a nil s the CPU performs them, as at
// the start. Set and restore it while no goroutine uses a word.
//
// It exists for a schedule explorer, which runs the goroutines of a lock one at a time, in
// every order of their operations. It is process-wide because the words of a lock have no
// field for a scheduler.
func SetScheduler(s Scheduler) (restore func()) {
	next := &s
	if s == nil {
		next = nil
	}
	before := scheduler.Swap(next)
	return func() { scheduler.Store(before) }
}

func schedule(op Op, w Word, old, new uint64) (before uint64, ok bool) {
	s := scheduler.Load()
	if s == nil {
		return 0, false
	}
	return (*s)(Access{Op: op, Word: w, Old: old, New: new}), true
}
