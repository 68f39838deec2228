//go:build systematic

package atomics

import "runtime"

// Yield announces to the scheduler that this goroutine waits until another one moves.
func Yield() {
	if _, ok := schedule(OpSpin, Word{}, 0, 0); !ok {
		runtime.Gosched()
	}
}

// YieldThread is [Yield] in this build.
func YieldThread() { Yield() }
