//go:build !systematic

package atomics

// PollWhile polls x while it is v: it loads x at most n times, with the hint of [SpinHint](1)
// after each load that finds v. It returns the last loaded value and the number of polls that
// found v. The last value differs from v if a poll found another value. n is limited to 1 to
// 64.
//
// It is the main loop of a lock's waiter, without a call for each poll. n is bounded for the
// same reason as in SpinHint: there is no safe point inside, and 64 polls take about 3 µs on
// CPUs with the slowest PAUSE. Between two calls a waiter must call a Go function that is not
// inlined, so that the runtime can stop it.
//
// # Memory ordering
//
// The last load is an acquire. The caller sees everything that a goroutine did before it
// stored the returned value by Store, StoreRelease or an atomic read-modify-write. It is
// weaker than Load: it may come before a Store of the same goroutine to another word. So a
// waiter that announces itself and then checks whether it must wait does so by Load.
//
// # How
//
//   - amd64: MOV and PAUSE.
//   - arm64: LDAR and ISB, the hint of SpinHint. LDAXR and WFE would sleep until another CPU
//     stores to the line or the kernel's event stream ends the sleep, perhaps never: until
//     then the world could not be stopped.
//   - riscv64: a load and PAUSE, and FENCE R, RW after the last.
//   - ppc64le: a load and 16 rounds of an empty loop at low priority; CMP, BNE and ISYNC after
//     the last.
//   - s390x, loong64: a load and 16 rounds of an empty loop; on loong64 an acquire barrier
//     after the last.
//   - elsewhere, under the tag purego, and under the race detector, which cannot see assembly:
//     Load and SpinHint.
//   - under the tag systematic: the loads and the spin hints, each one an operation of the
//     Scheduler.
func (x *Uint32) PollWhile(v uint32, n int) (last uint32, found int) {
	most := polls(n)
	last, left := pollWhile32(&x.v, v, most)
	return last, int(most - left)
}

// PollWhile polls x while it is v: see [Uint32.PollWhile].
func (x *Uint64) PollWhile(v uint64, n int) (last uint64, found int) {
	most := polls(n)
	last, left := pollWhile64(&x.v, v, most)
	return last, int(most - left)
}

func polls(n int) uint32 { return uint32(min(max(n, 1), maxSpin)) }
