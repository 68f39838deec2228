//go:build gc && !purego

package atomics

import "golang.org/x/sys/cpu"

var archSuite = []*Primitive{{
	Name:      "ll-sc",
	Doc:       "loong64 load-linked and store-conditional between two barriers, with AM instructions to swap and add",
	Source:    "LoongArch Reference Manual vol. 1, LL, SC, AMSWAP_DB, AMADD_DB and DBAR",
	Insn:      "LL/SC",
	Available: always,

	Word32: Operations[uint32]{llscCAS32, amswap32, amadd32, loadDbar32, dbarStore32},
	Word64: Operations[uint64]{llscCAS64, amswap64, amadd64, loadDbar64, dbarStore64},
}, {
	Name:      "amcas-db",
	Doc:       "loong64 single-instruction compare and swap (LAMCAS, LoongArch 1.10)",
	Source:    "LoongArch Reference Manual vol. 1, AMCAS_DB, AMSWAP_DB, AMADD_DB and DBAR",
	Insn:      "AMCAS_DB",
	Available: func() bool { return cpu.Loong64.HasLAMCAS },

	Word32: Operations[uint32]{amcas32, amswap32, amadd32, loadDbar32, dbarStore32},
	Word64: Operations[uint64]{amcas64, amswap64, amadd64, loadDbar64, dbarStore64},
}}

//go:noescape
func llscCAS32(p *uint32, old, new uint32) (swapped bool)

//go:noescape
func llscCAS64(p *uint64, old, new uint64) (swapped bool)

//go:noescape
func amcas32(p *uint32, old, new uint32) (swapped bool)

//go:noescape
func amcas64(p *uint64, old, new uint64) (swapped bool)

//go:noescape
func amswap32(p *uint32, new uint32) (old uint32)

//go:noescape
func amswap64(p *uint64, new uint64) (old uint64)

//go:noescape
func amadd32(p *uint32, delta uint32) (new uint32)

//go:noescape
func amadd64(p *uint64, delta uint64) (new uint64)

//go:noescape
func loadDbar32(p *uint32) (v uint32)

//go:noescape
func loadDbar64(p *uint64) (v uint64)

//go:noescape
func dbarStore32(p *uint32, v uint32)

//go:noescape
func dbarStore64(p *uint64, v uint64)
