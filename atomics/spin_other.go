//go:build !systematic && !((amd64 || arm64 || riscv64) && gc && !purego)

package atomics

// pause passes a little time. The compiler keeps an empty loop; only speed depends on it.
func pause(n uint32) {
	for range n {
	}
}
