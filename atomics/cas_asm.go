//go:build (amd64 || arm64 || loong64 || ppc64le || riscv64 || s390x) && gc && !purego

package atomics

// The assembly that every architecture has. Its instructions work on every CPU: see archSuite.

//go:noescape
func asmCAS32(p *uint32, old, new uint32) (swapped bool)

//go:noescape
func asmCAS64(p *uint64, old, new uint64) (swapped bool)

//go:noescape
func asmSwap32(p *uint32, new uint32) (old uint32)

//go:noescape
func asmSwap64(p *uint64, new uint64) (old uint64)

//go:noescape
func asmAdd32(p *uint32, delta uint32) (new uint32)

//go:noescape
func asmAdd64(p *uint64, delta uint64) (new uint64)

//go:noescape
func asmLoad32(p *uint32) (v uint32)

//go:noescape
func asmLoad64(p *uint64) (v uint64)

//go:noescape
func asmStore32(p *uint32, v uint32)

//go:noescape
func asmStore64(p *uint64, v uint64)
