//go:build gc && (go1.28 || callrelease) && !purego && !race && !systematic

package atomics

import "sync/atomic"

// storeRelease32 is a plain MOV: see [Uint32.StoreRelease].
//
//go:noescape
func storeRelease32(p *uint32, v uint32)

// storeRelease64 is a plain MOV: see [Uint32.StoreRelease].
//
//go:noescape
func storeRelease64(p *atomic.Uint64, v uint64)
