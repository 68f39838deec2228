package atomics

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// A Primitive is compare-and-swap, and the other operations of a lock, in the instructions of
// one family. It is a declarative value that [Suite] lists.
//
// Pointers must be aligned to the size of their word. All functions but LoadAcquire and
// StoreRelease order memory as [sync/atomic] does. The race detector does not see assembly: it
// reports a race if only a Primitive orders the accesses.
type Primitive struct {
	// Name identifies the primitive: lower case, words joined by '-'. It must not end in
	// "-digits", which benchmark tools read as GOMAXPROCS.
	Name string

	// Doc describes it in one line, without a capital or a full stop.
	Doc string

	// Source is the specification of the instructions.
	Source string

	// Insn is the instruction that compares and swaps, as in [CASName].
	Insn string

	// Available reports whether this CPU has the instructions. If not, calling a function
	// of the Primitive ends the process.
	Available func() bool

	CompareAndSwap32 func(p *uint32, old, new uint32) (swapped bool)
	CompareAndSwap64 func(p *uint64, old, new uint64) (swapped bool)

	Swap32 func(p *uint32, new uint32) (old uint32)
	Swap64 func(p *uint64, new uint64) (old uint64)

	Add32 func(p *uint32, delta uint32) (new uint32)
	Add64 func(p *uint64, delta uint64) (new uint64)

	// LoadAcquire returns *p; memory accesses after it stay after it.
	LoadAcquire32 func(p *uint32) uint32
	LoadAcquire64 func(p *uint64) uint64

	// StoreRelease sets *p to v; memory accesses before it stay before it. A
	// load after it may take its value earlier: see [Uint32.StoreRelease].
	StoreRelease32 func(p *uint32, v uint32)
	StoreRelease64 func(p *uint64, v uint64)
}

// Reference is sync/atomic, inlined by the compiler. The tests compare the others with it.
var Reference = &Primitive{
	Name:      "sync-atomic",
	Doc:       "the standard library, inlined by the compiler",
	Source:    "the Go memory model, https://go.dev/ref/mem",
	Insn:      CASName(),
	Available: always,

	CompareAndSwap32: atomic.CompareAndSwapUint32,
	CompareAndSwap64: atomic.CompareAndSwapUint64,
	Swap32:           atomic.SwapUint32,
	Swap64:           atomic.SwapUint64,
	Add32:            atomic.AddUint32,
	Add64:            atomic.AddUint64,
	LoadAcquire32:    atomic.LoadUint32,
	LoadAcquire64:    atomic.LoadUint64,
	StoreRelease32:   atomic.StoreUint32,
	StoreRelease64:   atomic.StoreUint64,
}

// Suite lists every primitive of this build for its architecture, the reference first.
// This CPU may lack some: see [Primitive.Available].
var Suite = append([]*Primitive{Reference}, archSuite...)

func always() bool { return true }

// Best returns the primitive of [Suite] with the instructions that the compiler emits for
// the words on this CPU, or the reference if this build has no assembly.
func Best() *Primitive {
	for _, p := range Suite[1:] {
		if p.Insn == CASName() {
			return p
		}
	}
	return Reference
}

// CASName names the instructions of a CompareAndSwap of the words on this CPU, such as "LOCK
// CMPXCHG", "CASAL" or "LDAXR/STLXR", or "sync/atomic" if that depends on more than the CPU.
//
// On arm64 and loong64 binary code has both ways. CASName uses golang.org/x/sys/cpu, as the Go
// runtime uses its own copy of that package.
func CASName() string {
	switch runtime.GOARCH {
	case "386", "amd64":
		return "LOCK CMPXCHG"
	case "arm64":
		return choose(cpu.ARM64.HasATOMICS, "CASAL", "LDAXR/STLXR")
	case "loong64":
		return choose(cpu.Loong64.HasLAMCAS, "AMCAS_DB", "LL/SC")
	case "ppc64", "ppc64le":
		return "LWARX/STWCX."
	case "riscv64":
		return "LR/SC"
	case "s390x":
		return "CS"
	}
	return "sync/atomic"
}

func choose(has bool, yes, no string) string {
	if has {
		return yes
	}
	return no
}

// Validate returns one error that joins every mistake in ps, or nil.
func Validate(ps []*Primitive) error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("atomics: "+format, args...))
	}
	if len(ps) == 0 || ps[0] != Reference {
		bad("the first primitive is not the reference")
	}
	seen := make(map[string]bool)
	for _, p := range ps {
		words := strings.Split(p.Name, "-")
		last := words[len(words)-1]
		switch {
		case !lowerCase(words):
			bad("name %q is not lower-case words joined by '-'", p.Name)
		case len(words) > 1 && strings.Trim(last, digits) == "":
			bad("name %q ends in -digits, which benchmark tools read as GOMAXPROCS", p.Name)
		case seen[p.Name]:
			bad("%s is listed twice", p.Name)
		}
		seen[p.Name] = true
		for _, missing := range p.missing() {
			bad("%s has no %s", p.Name, missing)
		}
	}
	return errors.Join(errs...)
}

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyz"
)

// lowerCase avoids a regular expression: it would link regexp into every program with a lock.
func lowerCase(words []string) bool {
	for _, w := range words {
		if w == "" || strings.Trim(w, letters+digits) != "" {
			return false
		}
	}
	return strings.ContainsRune(letters, rune(words[0][0]))
}

func (p *Primitive) missing() []string {
	var names []string
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"Doc", p.Doc != ""},
		{"Source", p.Source != ""},
		{"Insn", p.Insn != ""},
		{"Available", p.Available != nil},
		{"CompareAndSwap32", p.CompareAndSwap32 != nil},
		{"CompareAndSwap64", p.CompareAndSwap64 != nil},
		{"Swap32", p.Swap32 != nil},
		{"Swap64", p.Swap64 != nil},
		{"Add32", p.Add32 != nil},
		{"Add64", p.Add64 != nil},
		{"LoadAcquire32", p.LoadAcquire32 != nil},
		{"LoadAcquire64", p.LoadAcquire64 != nil},
		{"StoreRelease32", p.StoreRelease32 != nil},
		{"StoreRelease64", p.StoreRelease64 != nil},
	} {
		if !f.set {
			names = append(names, f.name)
		}
	}
	return names
}
