package evidence

import (
	"errors"
	"fmt"
	"runtime"

	"locklab/atomics"
)

// ErrUnsupported is the error of [Capture] if there is no decoder for the architecture.
var ErrUnsupported = fmt.Errorf("evidence: %w", errors.ErrUnsupported)

// A Listing is the machine code of one operation.
type Listing struct {
	Name      string
	Operation string // the name of its field, such as "CompareAndSwap32"
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
			{"CompareAndSwap32", p.CompareAndSwap32},
			{"Swap32", p.Swap32},
			{"Add32", p.Add32},
			{"LoadAcquire32", p.LoadAcquire32},
			{"StoreRelease32", p.StoreRelease32},
		} {
			fn := locate(op.fn)
			ls = append(ls, Listing{Name: p.Name, Operation: op.name, Source: fn.Name(), Lines: a.disassemble(fn)})
		}
	}
	return ls, nil
}
