package atomics

// maxSpin keeps one SpinHint near 3 µs on the slowest PAUSE known (140 cycles
// on Intel since Skylake, at 3 GHz).
const maxSpin = 64

// SpinHint waits a moment inside a spin loop. It executes n times the instruction that leaves
// a CPU's resources to the other hardware thread. n is limited to 64; 0 and less do nothing.
//
// n is bounded because a goroutine inside assembly has no safe point: a stop of the world
// waits for its return. A loop that spins for long must also call runtime.Gosched about every
// 16 rounds, since it spends nearly all of its time here.
//
//   - amd64: PAUSE, between 10 and 140 cycles by model.
//   - arm64: ISB. YIELD, the hint meant for this, is a NOP on nearly all cores; ISB drains the
//     pipeline, tens of cycles. The Go runtime made the same choice in 1.26
//     (golang.org/issue/69232).
//   - riscv64: PAUSE, which a CPU without Zihintpause takes for a NOP.
//   - elsewhere, and under the tag purego: an empty loop, about a cycle per iteration.
//   - under the tag systematic: one call of the Scheduler, and no wait.
func SpinHint(n int) { pause(hints(n)) }

func hints(n int) uint32 { return uint32(min(max(n, 0), maxSpin)) }
