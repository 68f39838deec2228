//go:build (amd64 || arm64 || riscv64) && gc && !purego && !systematic

package atomics

// pause executes the spin hint n times. It has no safe point: n must be small.
func pause(n uint32)
