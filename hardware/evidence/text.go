package evidence

import (
	"bytes"
	"reflect"
	"runtime"
	"unsafe"
)

// Bounds in bytes, far above what they need to be: the functions that are read
// have less than 200 bytes, and package atomics has a few thousand.
const (
	maxFunction = 4 << 10
	maxPackage  = 64 << 10
)

// locate returns the function whose text fn executes.
//
// The pointer to an assembly function is that of a wrapper, which the compiler
// made to move arguments from registers to the stack. The linker gives both one
// name, and places the wrappers of a package after the rest of it, so the
// function of the same name before this one is the assembly.
func locate(fn any) *runtime.Func {
	entry := reflect.ValueOf(fn).Pointer()
	f := runtime.FuncForPC(entry)
	for g := runtime.FuncForPC(entry - 1); g != nil && entry-g.Entry() < maxPackage; g = runtime.FuncForPC(g.Entry() - 1) {
		if g.Name() == f.Name() {
			return g
		}
	}
	return f // no wrapper: f is written in Go, or the architecture passes arguments on the stack
}

// text returns a copy of the memory that f runs from, with the padding after it.
func text(f *runtime.Func) []byte {
	entry := f.Entry()
	size := 1
	for size < maxFunction {
		if g := runtime.FuncForPC(entry + uintptr(size)); g == nil || g.Entry() != entry {
			break
		}
		size++
	}
	// vet takes a conversion of an address for a pointer to an object that may
	// move; this is one of code, which never does.
	start := *(*unsafe.Pointer)(unsafe.Pointer(&entry))
	return bytes.Clone(unsafe.Slice((*byte)(start), size))
}
