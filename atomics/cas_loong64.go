//go:build gc && !purego

package atomics

import "golang.org/x/sys/cpu"

var archSuite = []*Primitive{{
	Name:      "ll-sc",
	Doc:       "loong64 load-linked and store-conditional between two barriers, with AM instructions to swap and add",
	Source:    "LoongArch Reference Manual vol. 1, LL, SC, AMSWAP_DB, AMADD_DB and DBAR",
	Insn:      "LL/SC",
	Available: always,

	Word32: Operations[uint32]{asmCAS32, asmSwap32, asmAdd32, asmLoad32, asmStore32},
	Word64: Operations[uint64]{asmCAS64, asmSwap64, asmAdd64, asmLoad64, asmStore64},
}, {
	Name:      "amcas-db",
	Doc:       "loong64 single-instruction compare and swap (LAMCAS, LoongArch 1.10)",
	Source:    "LoongArch Reference Manual vol. 1, AMCAS_DB, AMSWAP_DB, AMADD_DB and DBAR",
	Insn:      "AMCAS_DB",
	Available: func() bool { return cpu.Loong64.HasLAMCAS },

	Word32: Operations[uint32]{amcas32, asmSwap32, asmAdd32, asmLoad32, asmStore32},
	Word64: Operations[uint64]{amcas64, asmSwap64, asmAdd64, asmLoad64, asmStore64},
}}

//go:noescape
func amcas32(p *uint32, old, new uint32) (swapped bool)

//go:noescape
func amcas64(p *uint64, old, new uint64) (swapped bool)
