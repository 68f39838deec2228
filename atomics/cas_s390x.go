//go:build gc && !purego

package atomics

var archSuite = []*Primitive{{
	Name:      "cs",
	Doc:       "s390x compare and swap, retried to swap, with load and add; loads and stores are plain moves",
	Source:    "z/Architecture Principles of Operation (SA22-7832), CS and LAA; Storage-Operand Consistency",
	Insn:      "CS",
	Available: always,

	Word32: Operations[uint32]{asmCAS32, asmSwap32, asmAdd32, asmLoad32, asmStore32},
	Word64: Operations[uint64]{asmCAS64, asmSwap64, asmAdd64, asmLoad64, asmStore64},
}}
