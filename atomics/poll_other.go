//go:build !systematic && (race || purego || !gc || !(amd64 || arm64 || loong64 || ppc64le || riscv64 || s390x))

package atomics

import "sync/atomic"

func pollWhile32(p *uint32, v, n uint32) (last, left uint32) {
	for left = n; left > 0; left-- {
		if last = atomic.LoadUint32(p); last != v {
			break
		}
		pause(1)
	}
	return last, left
}

func pollWhile64(p *atomic.Uint64, v uint64, n uint32) (last uint64, left uint32) {
	for left = n; left > 0; left-- {
		if last = p.Load(); last != v {
			break
		}
		pause(1)
	}
	return last, left
}
