//go:build gc && !go1.28 && !callrelease && !purego && !race && !systematic

package atomics

import (
	"sync/atomic"
	"unsafe"
)

// These two inline to one MOV: see [Uint32.StoreRelease]. A later compiler may move the
// accesses around them, so they are only for the releases that passed TestToolchainOrder.
// Later releases use a call to assembly, as with the tag callrelease.

func storeRelease32(p *uint32, v uint32) { *p = v }

func storeRelease64(p *atomic.Uint64, v uint64) { *(*uint64)(unsafe.Pointer(p)) = v }
