//go:build gc && !purego

package atomics

var archSuite = []*Primitive{{
	Name:      "cs",
	Doc:       "s390x compare and swap, retried to swap, with load and add; loads and stores are plain moves",
	Source:    "z/Architecture Principles of Operation (SA22-7832), CS and LAA; Storage-Operand Consistency",
	Insn:      "CS",
	Available: always,

	Word32: Operations[uint32]{cs32, csSwap32, laa32, plainLoad32, plainStore32},
	Word64: Operations[uint64]{cs64, csSwap64, laa64, plainLoad64, plainStore64},
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
