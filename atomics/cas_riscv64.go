//go:build gc && !purego

package atomics

var archSuite = []*Primitive{{
	Name:      "lr-sc",
	Doc:       "riscv64 load-reserved and store-conditional, with AMO instructions to swap and add",
	Source:    "The RISC-V Instruction Set Manual vol. I, A extension; RVWMO appendix, table A.6",
	Insn:      "LR/SC",
	Available: always,

	Word32: Operations[uint32]{asmCAS32, asmSwap32, asmAdd32, asmLoad32, asmStore32},
	Word64: Operations[uint64]{asmCAS64, asmSwap64, asmAdd64, asmLoad64, asmStore64},
}}
