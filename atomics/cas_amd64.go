//go:build gc && !purego

package atomics

var archSuite = []*Primitive{{
	Name:      "lock-cmpxchg",
	Doc:       "x86 locked instructions; loads and stores are plain moves",
	Source:    "Intel SDM vol. 2, CMPXCHG, XADD and XCHG; vol. 3A, Locked Atomic Operations and Memory Ordering",
	Insn:      "LOCK CMPXCHG",
	Available: always,

	Word32: Operations[uint32]{asmCAS32, asmSwap32, asmAdd32, asmLoad32, asmStore32},
	Word64: Operations[uint64]{asmCAS64, asmSwap64, asmAdd64, asmLoad64, asmStore64},
}}
