package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"unsafe"

	"locklab/atomics"
	"locklab/harness/result"
)

// ErrUnsupported is the error of [Capture] if there is no decoder for the architecture.
var ErrUnsupported = fmt.Errorf("evidence: %w", errors.ErrUnsupported)

// A Listing is the machine code of one operation.
type Listing struct {
	Name      string
	Operation string // the name of its field, and the bits of its word: "CompareAndSwap32"
	Source    string // the linker's name of the function with this text
	Lines     []Line
}

type Line struct {
	Offset int    // from the start of the function, in bytes
	Bytes  []byte // the instruction, in memory order
	Text   string // in Go assembler syntax; the raw word if it could not be decoded

	// Atomic marks the instructions that make the operation one step for every other CPU:
	// a read-modify-write instruction, or each half of a load-reserve and
	// store-conditional pair. Plain loads, stores and barriers are not marked.
	Atomic bool

	// Note describes in one line an atomic or ordering instruction, or is empty.
	Note string
}

// Capture disassembles the 32-bit operations of every primitive in
// [atomics.Suite], sync/atomic first. The error is [ErrUnsupported] or nil.
func Capture() ([]Listing, error) { return capture(native) }

func capture(a *isa) ([]Listing, error) {
	if a == nil {
		return nil, fmt.Errorf("%w: no decoder for %s", ErrUnsupported, runtime.GOARCH)
	}
	var ls []Listing
	for _, p := range atomics.Suite {
		if p == atomics.Reference {
			// Called through a pointer, sync/atomic is not the code that locks execute.
			p = inlined
		}
		for _, op := range []struct {
			name string
			fn   any
		}{
			{"CompareAndSwap32", p.Word32.CompareAndSwap},
			{"Swap32", p.Word32.Swap},
			{"Add32", p.Word32.Add},
			{"LoadAcquire32", p.Word32.LoadAcquire},
			{"StoreRelease32", p.Word32.StoreRelease},
		} {
			fn := locate(op.fn)
			ls = append(ls, Listing{Name: p.Name, Operation: op.name, Source: fn.Name(), Lines: a.disassemble(fn)})
		}
	}
	return ls, nil
}

// Text returns the listings with an empty line between them.
func Text(ls []Listing) string {
	return strings.Join(result.Each(ls, Listing.String), "\n")
}

// String returns a line that names l, then one line for each instruction with its offset and
// bytes in hexadecimal. An arrow marks atomic instructions; the note follows a semicolon.
func (l Listing) String() string {
	var out strings.Builder
	var code, text int
	for _, line := range l.Lines {
		code = max(code, 2*len(line.Bytes))
		if line.Note != "" {
			text = max(text, len(line.Text))
		}
	}
	fmt.Fprintf(&out, "%s %s: %s\n", l.Name, l.Operation, l.Source)
	for _, line := range l.Lines {
		arrow := "  "
		if line.Atomic {
			arrow = "->"
		}
		fmt.Fprintf(&out, "%s %04x  %-*x  ", arrow, line.Offset, code, line.Bytes)
		if line.Note != "" {
			fmt.Fprintf(&out, "%-*s  ; %s\n", text, line.Text, line.Note)
		} else {
			fmt.Fprintln(&out, line.Text)
		}
	}
	return out.String()
}

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

// Find returns the listing of the running binary as a finding for a report. The error is
// that of [Capture].
func Find() (*result.Finding, error) {
	ls, err := Capture()
	if err != nil {
		return nil, err
	}
	marked := 0
	for _, l := range ls {
		for _, line := range l.Lines {
			if line.Atomic {
				marked++
			}
		}
	}
	return &result.Finding{
		Name:     "evidence",
		Question: "Which instructions make an operation one step for every other CPU?",
		Method: "The text of the running binary is disassembled: sync/atomic as the compiler inlined it, and each primitive written in assembly. " +
			"An arrow marks the atomic instructions.",
		Source: "the binary itself",
		Answer: fmt.Sprintf("A compare-and-swap is %s here. The listing shows %d operations and marks %d atomic instructions in them.",
			atomics.CASName(), len(ls), marked),
		Listing: Text(ls),
	}, nil
}
