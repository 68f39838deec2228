//go:build gc && !purego

package atomics

var archSuite = []*Primitive{{
	Name:      "lwarx-stwcx",
	Doc:       "ppc64le load-and-reserve and store-conditional between two LWSYNC, retried until the store succeeds",
	Source:    "Power ISA 2.07B Book II, 4.6.2 and 4.6.3, LWARX, STWCX. and SYNC; appendix B.2",
	Insn:      "LWARX/STWCX.",
	Available: always,

	Word32: Operations[uint32]{asmCAS32, asmSwap32, asmAdd32, asmLoad32, asmStore32},
	Word64: Operations[uint64]{asmCAS64, asmSwap64, asmAdd64, asmLoad64, asmStore64},
}}
