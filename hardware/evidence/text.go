package evidence

import (
	"bytes"
	"reflect"
	"runtime"
	"unsafe"
)

// Bounds in bytes, far above the real sizes: the functions have less than 200 bytes, and
// package atomics has a few thousand.
const (
	maxFunction = 4 << 10
	maxPackage  = 64 << 10
)

// locate returns the function whose text fn executes.
//
// The pointer to an assembly function refers to a wrapper that moves arguments from registers
// to the stack. The linker gives both the same name, and places the wrappers of a package
// after its other functions. So the preceding function of the same name is the assembly.
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

func text(f *runtime.Func) []byte {
	entry := f.Entry()
	size := 1
	for size < maxFunction {
		if g := runtime.FuncForPC(entry + uintptr(size)); g == nil || g.Entry() != entry {
			break
		}
		size++
	}
	// vet takes the address of code, which never moves, for one of an object that may.
	start := *(*unsafe.Pointer)(unsafe.Pointer(&entry))
	return bytes.Clone(unsafe.Slice((*byte)(start), size))
}
