//go:build (amd64 || arm64 || riscv64) && gc && !purego && !systematic

package atomics

func pause(n uint32)
