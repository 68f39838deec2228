//go:build gc && !purego

package atomics

var archSuite = []*Primitive{{
	Name:      "lock-cmpxchg",
	Doc:       "x86 locked instructions; loads and stores are plain moves",
	Source:    "Intel SDM vol. 2, CMPXCHG, XADD and XCHG; vol. 3A, Locked Atomic Operations and Memory Ordering",
	Insn:      "LOCK CMPXCHG",
	Available: always,

	Word32: Operations[uint32]{lockCmpxchg32, xchg32, lockXadd32, movLoad32, movStore32},
	Word64: Operations[uint64]{lockCmpxchg64, xchg64, lockXadd64, movLoad64, movStore64},
}}

//go:noescape
func lockCmpxchg32(p *uint32, old, new uint32) (swapped bool)

//go:noescape
func lockCmpxchg64(p *uint64, old, new uint64) (swapped bool)

//go:noescape
func xchg32(p *uint32, new uint32) (old uint32)

//go:noescape
func xchg64(p *uint64, new uint64) (old uint64)

//go:noescape
func lockXadd32(p *uint32, delta uint32) (new uint32)

//go:noescape
func lockXadd64(p *uint64, delta uint64) (new uint64)

//go:noescape
func movLoad32(p *uint32) (v uint32)

//go:noescape
func movLoad64(p *uint64) (v uint64)

//go:noescape
func movStore32(p *uint32, v uint32)

//go:noescape
func movStore64(p *uint64, v uint64)
