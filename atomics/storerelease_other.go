//go:build !systematic && !(amd64 && gc && !purego && !race)

package atomics

import "sync/atomic"

func storeRelease32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }

func storeRelease64(p *atomic.Uint64, v uint64) { p.Store(v) }
