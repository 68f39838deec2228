//go:build !systematic

package mutex

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"locklab/atomics"
)

// A futexQueue is empty: the kernel finds the sleepers by the word's address.
type futexQueue struct{}

// Operations of futex(2) that golang.org/x/sys/unix does not name.
const (
	futexOpWait  = 0
	futexOpWake  = 1
	futexPrivate = 128 // for threads of one process only: saves the kernel a lookup
)

// wait sleeps while the word has the given value. It may return for no reason, and at a signal
// of the Go runtime, so the caller reads the word again.
func (futexQueue) wait(word *atomics.Uint32, value uint32) {
	// Syscall6 keeps the word at its address until it returns (unsafe.Pointer, 4).
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWait|futexPrivate, uintptr(value), 0, 0, 0)
}

func (futexQueue) wake(word *atomics.Uint32) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWake|futexPrivate, 1, 0, 0, 0)
}
