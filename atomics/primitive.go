package atomics

import (
	"runtime"
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

	Word32 Operations[uint32]
	Word64 Operations[uint64]
}

// Operations are a Primitive's operations on words of type T.
type Operations[T uint32 | uint64] struct {
	CompareAndSwap func(p *T, old, new T) (swapped bool)
	Swap           func(p *T, new T) (old T)
	Add            func(p *T, delta T) (new T)

	// LoadAcquire returns *p; memory accesses after it stay after it.
	LoadAcquire func(p *T) T

	// StoreRelease sets *p to v; memory accesses before it stay before it. A
	// load after it may take its value earlier: see [Uint32.StoreRelease].
	StoreRelease func(p *T, v T)
}

// Reference is sync/atomic, inlined by the compiler. The tests compare the others with it.
var Reference = &Primitive{
	Name:      "sync-atomic",
	Doc:       "the standard library, inlined by the compiler",
	Source:    "the Go memory model, https://go.dev/ref/mem",
	Insn:      CASName(),
	Available: always,

	Word32: Operations[uint32]{atomic.CompareAndSwapUint32, atomic.SwapUint32, atomic.AddUint32, atomic.LoadUint32, atomic.StoreUint32},
	Word64: Operations[uint64]{atomic.CompareAndSwapUint64, atomic.SwapUint64, atomic.AddUint64, atomic.LoadUint64, atomic.StoreUint64},
}

// Suite lists every primitive of this build for its architecture, the reference first.
// This CPU may lack some: see [Primitive.Available].
var Suite = append([]*Primitive{Reference}, archSuite...)

func always() bool { return true }

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
