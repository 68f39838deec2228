//go:build (amd64 || arm64 || loong64 || ppc64le || riscv64 || s390x) && gc && !purego && !race && !systematic

package atomics

import "sync/atomic"

// pollWhile32 loads *p at most n times, n > 0, while it is v. It returns the last loaded
// value, and n less the polls that found v. It has no safe point.
//
//go:noescape
func pollWhile32(p *uint32, v, n uint32) (last, left uint32)

//go:noescape
func pollWhile64(p *atomic.Uint64, v uint64, n uint32) (last uint64, left uint32)
