//go:build gc && !purego

package atomics

var archSuite = []*Primitive{{
	Name:      "cs",
	Doc:       "s390x compare and swap, retried to swap, with load and add; loads and stores are plain moves",
	Source:    "z/Architecture Principles of Operation (SA22-7832), CS and LAA; Storage-Operand Consistency",
	Insn:      "CS",
	Available: always,

	CompareAndSwap32: cs32,
	CompareAndSwap64: cs64,
	Swap32:           csSwap32,
	Swap64:           csSwap64,
	Add32:            laa32,
	Add64:            laa64,
	LoadAcquire32:    plainLoad32,
	LoadAcquire64:    plainLoad64,
	StoreRelease32:   plainStore32,
	StoreRelease64:   plainStore64,
}}

//go:noescape
func cs32(p *uint32, old, new uint32) (swapped bool)

//go:noescape
func cs64(p *uint64, old, new uint64) (swapped bool)

//go:noescape
func csSwap32(p *uint32, new uint32) (old uint32)

//go:noescape
func csSwap64(p *uint64, new uint64) (old uint64)

//go:noescape
func laa32(p *uint32, delta uint32) (new uint32)

//go:noescape
func laa64(p *uint64, delta uint64) (new uint64)

//go:noescape
func plainLoad32(p *uint32) (v uint32)

//go:noescape
func plainLoad64(p *uint64) (v uint64)

//go:noescape
func plainStore32(p *uint32, v uint32)

//go:noescape
func plainStore64(p *uint64, v uint64)
