//go:build systematic

package atomics

// pause announces once that this goroutine waits for n hints or until another one moves.
func pause(n uint32) {
	if n > 0 {
		schedule(OpSpin, Word{}, 0, uint64(n))
	}
}
