//go:build gc && !purego

package atomics

var archSuite = []*Primitive{{
	Name:      "lwarx-stwcx",
	Doc:       "ppc64le load-and-reserve and store-conditional between two LWSYNC, retried until the store succeeds",
	Source:    "Power ISA 2.07B Book II, 4.6.2 and 4.6.3, LWARX, STWCX. and SYNC; appendix B.2",
	Insn:      "LWARX/STWCX.",
	Available: always,

	Word32: Operations[uint32]{larxCAS32, larxSwap32, larxAdd32, loadIsync32, lwsyncStore32},
	Word64: Operations[uint64]{larxCAS64, larxSwap64, larxAdd64, loadIsync64, lwsyncStore64},
}}

//go:noescape
func larxCAS32(p *uint32, old, new uint32) (swapped bool)

//go:noescape
func larxCAS64(p *uint64, old, new uint64) (swapped bool)

//go:noescape
func larxSwap32(p *uint32, new uint32) (old uint32)

//go:noescape
func larxSwap64(p *uint64, new uint64) (old uint64)

//go:noescape
func larxAdd32(p *uint32, delta uint32) (new uint32)

//go:noescape
func larxAdd64(p *uint64, delta uint64) (new uint64)

//go:noescape
func loadIsync32(p *uint32) (v uint32)

//go:noescape
func loadIsync64(p *uint64) (v uint64)

//go:noescape
func lwsyncStore32(p *uint32, v uint32)

//go:noescape
func lwsyncStore64(p *uint64, v uint64)
