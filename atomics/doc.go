// Package atomics has the operations that local locks are built from:
//
//   - [Uint32] and [Uint64] are the words that locks are made of. They inline
//     to sync/atomic, and add StoreRelease, the cheap store that frees a lock,
//     and PollWhile, the loop of a waiter;
//   - [SpinHint] is the pause inside a spin loop, [CacheLinePad] keeps two words
//     out of one cache line;
//   - a [Parker] lets a goroutine sleep until another one wakes it, [Yield] and
//     [YieldThread] let others run;
//   - [Ticks] reads the cycle counter;
//   - a [Primitive] is compare-and-swap with its relatives written by hand for
//     one instruction sequence (LOCK CMPXCHG, LDAXR/STLXR, CASAL, LR/SC). [Suite]
//     lists those of this architecture, so that they can be tested against each
//     other and measured.
//
// Locks use the words, not the primitives: the compiler emits the same
// instructions inline, and a call to assembly costs more than it could save.
// The exception is PollWhile, one call for many polls.
//
// # Build tags
//
// The primitives and PollWhile are in assembly on amd64, arm64, loong64, ppc64le,
// riscv64 and s390x, the spin hint on amd64, arm64 and riscv64, the cycle counter
// on amd64 and arm64. The tag purego, another compiler than gc and every other
// architecture leave it out and use sync/atomic and time.
//
// The tests of an amd64 machine run the assembly of the others under qemu. That
// shows that an instruction is encoded and used as meant. It shows nothing about
// memory order: there the source that a Primitive names must be trusted.
//
// Under -race the words, PollWhile too, are sync/atomic only, because the race detector cannot
// see assembly.
//
// The tag systematic has a Scheduler do each operation on a word, so that a test
// decides the order of the operations of several goroutines, and when a plain
// store is seen, and walks through all of it. It explores the very code that is
// shipped; see SetScheduler, which only that build has, and internal/explore. It
// is for tests: the hook is slow.
//
// # Rank
//
// Rank 0. It imports the standard library and golang.org/x/sys/cpu, and must
// never import another package of this module.
package atomics
