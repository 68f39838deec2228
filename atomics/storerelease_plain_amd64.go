//go:build gc && !go1.28 && !callrelease && !purego && !race && !systematic

package atomics

import (
	"sync/atomic"
	"unsafe"
)

// These two inline to one MOV: see [Uint32.StoreRelease]. The compiler may one
// day move what surrounds them, so they are for the releases on which
// TestToolchainOrder has been seen to pass. Later ones have a call to assembly,
// as the tag callrelease has.

func storeRelease32(p *uint32, v uint32) { *p = v }

func storeRelease64(p *atomic.Uint64, v uint64) { *(*uint64)(unsafe.Pointer(p)) = v }
