//go:build (amd64 || arm64 || loong64 || ppc64le || riscv64 || s390x) && gc && !purego && !race && !systematic

package atomics

import "sync/atomic"

// pollWhile32 loads *p at most n times, n > 0, as long as it is v. It returns
// what it loaded last, and n less the polls that found v. It has no safe point.
//
//go:noescape
func pollWhile32(p *uint32, v, n uint32) (last, left uint32)

// pollWhile64 is pollWhile32 for 64 bits.
//
//go:noescape
func pollWhile64(p *atomic.Uint64, v uint64, n uint32) (last uint64, left uint32)
