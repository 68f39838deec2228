//go:build gc && !purego

package atomics

var archSuite = []*Primitive{{
	Name:      "lr-sc",
	Doc:       "riscv64 load-reserved and store-conditional, with AMO instructions to swap and add",
	Source:    "The RISC-V Instruction Set Manual vol. I, A extension; RVWMO appendix, table A.6",
	Insn:      "LR/SC",
	Available: always,

	Word32: Operations[uint32]{lrscCAS32, amoswap32, amoadd32, loadFence32, fenceStore32},
	Word64: Operations[uint64]{lrscCAS64, amoswap64, amoadd64, loadFence64, fenceStore64},
}}

//go:noescape
func lrscCAS32(p *uint32, old, new uint32) (swapped bool)

//go:noescape
func lrscCAS64(p *uint64, old, new uint64) (swapped bool)

//go:noescape
func amoswap32(p *uint32, new uint32) (old uint32)

//go:noescape
func amoswap64(p *uint64, new uint64) (old uint64)

//go:noescape
func amoadd32(p *uint32, delta uint32) (new uint32)

//go:noescape
func amoadd64(p *uint64, delta uint64) (new uint64)

//go:noescape
func loadFence32(p *uint32) (v uint32)

//go:noescape
func loadFence64(p *uint64) (v uint64)

//go:noescape
func fenceStore32(p *uint32, v uint32)

//go:noescape
func fenceStore64(p *uint64, v uint64)
