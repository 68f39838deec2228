//go:build gc && !purego

package atomics

import "golang.org/x/sys/cpu"

// Both primitives share LDAR and STLR, which every arm64 CPU has.
var archSuite = []*Primitive{{
	Name:      "ldaxr-stlxr",
	Doc:       "arm64 load-exclusive and store-exclusive, retried until the store succeeds",
	Source:    "Arm Architecture Reference Manual (DDI 0487), LDAXR, STLXR and Synchronization and semaphores",
	Insn:      "LDAXR/STLXR",
	Available: always,

	Word32: Operations[uint32]{asmCAS32, asmSwap32, asmAdd32, asmLoad32, asmStore32},
	Word64: Operations[uint64]{asmCAS64, asmSwap64, asmAdd64, asmLoad64, asmStore64},
}, {
	Name:      "casal",
	Doc:       "arm64 single-instruction atomics (FEAT_LSE, Armv8.1)",
	Source:    "Arm Architecture Reference Manual (DDI 0487), CASAL, SWPAL and LDADDAL",
	Insn:      "CASAL",
	Available: func() bool { return cpu.ARM64.HasATOMICS },

	Word32: Operations[uint32]{casal32, swpal32, ldaddal32, asmLoad32, asmStore32},
	Word64: Operations[uint64]{casal64, swpal64, ldaddal64, asmLoad64, asmStore64},
}}

//go:noescape
func casal32(p *uint32, old, new uint32) (swapped bool)

//go:noescape
func casal64(p *uint64, old, new uint64) (swapped bool)

//go:noescape
func swpal32(p *uint32, new uint32) (old uint32)

//go:noescape
func swpal64(p *uint64, new uint64) (old uint64)

//go:noescape
func ldaddal32(p *uint32, delta uint32) (new uint32)

//go:noescape
func ldaddal64(p *uint64, delta uint64) (new uint64)
