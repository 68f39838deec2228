//go:build systematic

package atomics

import "runtime"

// Yield announces to the scheduler that this goroutine waits until another one moves.
// Without a scheduler it is Yield of the normal build.
func Yield() {
	if _, ok := schedule(OpSpin, Word{}, 0, 0); !ok {
		runtime.Gosched()
	}
}

// YieldThread is [Yield] in this build.
func YieldThread() { Yield() }
