//go:build systematic

package atomics

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// An Op is an operation that a [Scheduler] is told of.
type Op uint8

// The operations. All but OpSpin are methods of [Uint32] and [Uint64].
const (
	OpLoad Op = iota
	OpStore
	OpStoreRelease
	OpCompareAndSwap
	OpSwap
	OpAdd
	OpSpin // SpinHint: the goroutine waits for another one
)

var opNames = [...]string{"Load", "Store", "StoreRelease", "CompareAndSwap", "Swap", "Add", "SpinHint"}

// String returns the name of the method or function.
func (op Op) String() string {
	if int(op) < len(opNames) {
		return opNames[op]
	}
	return fmt.Sprintf("Op(%d)", uint8(op))
}

// A Scheduler is called before an operation, on the goroutine that is about to
// do it. The operation happens when the call returns, so a Scheduler orders
// the operations of several goroutines by letting their calls return one at a
// time. addr is the word, nil for OpSpin; it is a pointer and not a number, so
// that the word stays where it is and one address is one word.
type Scheduler func(op Op, addr unsafe.Pointer)

var scheduler atomic.Pointer[Scheduler]

// SetScheduler makes the operations on all words and SpinHint call s first, in
// every goroutine of the process, until restore brings the one before back. A
// nil s calls nothing, as at the start. Set and restore it while no goroutine
// works on a word.
//
// It exists for a schedule explorer: a test that runs the goroutines of a lock
// one at a time, in every order of their operations, instead of hoping that
// the machine shows the bad one. It is process-wide because the words of a lock
// have no room for a scheduler of their own; only the build with the tag
// systematic has it.
func SetScheduler(s Scheduler) (restore func()) {
	next := &s
	if s == nil {
		next = nil
	}
	before := scheduler.Swap(next)
	return func() { scheduler.Store(before) }
}

func schedule(op Op, addr unsafe.Pointer) {
	if s := scheduler.Load(); s != nil {
		(*s)(op, addr)
	}
}
