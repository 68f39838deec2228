//go:build !systematic

package atomics

// PollWhile polls x as long as it is v: it loads x at most n times, with the
// hint of [SpinHint](1) after each load that finds v. It returns what it loaded
// last, which differs from v if one of the polls found something else, and how
// many of the polls found v. n is taken as at least 1 and at most 64.
//
// It is the loop at the heart of a lock's waiter, without a call for each poll.
// n is bounded for the reason that SpinHint gives: inside is no safe point, and
// 64 polls take about 3 µs where PAUSE is slowest. Between two calls a waiter
// must pass through a Go function that is not inlined, where the runtime can
// stop it.
//
// # Memory ordering
//
// The last load is an acquire: what a goroutine did before it stored the value
// that is returned, by Store, StoreRelease or an atomic read-modify-write, is
// visible to the caller. It is weaker than Load in that it may come before a
// Store of the same goroutine to another word: a waiter that announces itself
// and then looks whether it must wait does so by Load.
//
// # How
//
//   - amd64: MOV and PAUSE.
//   - arm64: LDAR and ISB, the hint of SpinHint. Not LDAXR and WFE, which sleeps
//     until another CPU stores to the line: where none does, what ends the sleep
//     is the kernel's event stream, every 100 µs under Linux and perhaps never
//     elsewhere, and all that time the world could not be stopped.
//   - riscv64: a load and PAUSE, and FENCE R, RW after the last.
//   - ppc64le: a load and 16 rounds of an empty loop at low priority; CMP, BNE
//     and ISYNC after the last.
//   - s390x, loong64: a load and 16 rounds of an empty loop; on loong64 an
//     acquire barrier after the last.
//   - elsewhere, under the tag purego, and under the race detector, which cannot
//     see assembly: Load and SpinHint.
//   - under the tag systematic: the loads and the spin hints, each of them an
//     operation of the Scheduler.
func (x *Uint32) PollWhile(v uint32, n int) (last uint32, found int) {
	most := polls(n)
	last, left := pollWhile32(&x.v, v, most)
	return last, int(most - left)
}

// PollWhile polls x as long as it is v: see [Uint32.PollWhile].
func (x *Uint64) PollWhile(v uint64, n int) (last uint64, found int) {
	most := polls(n)
	last, left := pollWhile64(&x.v, v, most)
	return last, int(most - left)
}

// polls returns how many polls n stands for.
func polls(n int) uint32 { return uint32(min(max(n, 1), maxSpin)) }
