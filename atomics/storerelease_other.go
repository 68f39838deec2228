//go:build !systematic && !(amd64 && gc && !purego && !race)

package atomics

import "sync/atomic"

func storeRelease32(p *atomic.Uint32, v uint32) { p.Store(v) }

func storeRelease64(p *atomic.Uint64, v uint64) { p.Store(v) }
