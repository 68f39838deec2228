// Package atomics provides the operations of local locks:
//
//   - [Uint32] and [Uint64] are the words of locks. They inline to sync/atomic, and add
//     StoreRelease, the cheap store that frees a lock, and PollWhile, the loop of a waiter;
//   - [SpinHint] is the pause inside a spin loop, [CacheLinePad] keeps two words out of one
//     cache line;
//   - a [Parker] lets a goroutine sleep until another one wakes it, [Yield] and [YieldThread]
//     let others run;
//   - [Ticks] reads the cycle counter;
//   - a [Primitive] is compare-and-swap with its relatives, written by hand for one
//     instruction sequence (LOCK CMPXCHG, LDAXR/STLXR, CASAL, LR/SC). [Suite] lists the
//     primitives of this architecture, to test them against each other and to measure them.
//
// Locks use the words, not the primitives: the compiler emits the same instructions inline,
// and a call to assembly costs more than it could save. The exception is PollWhile, one call
// for many polls.
//
// # Build tags
//
// The primitives and PollWhile are in assembly on amd64, arm64, loong64, ppc64le, riscv64 and
// s390x, the spin hint on amd64, arm64 and riscv64, the cycle counter on amd64 and arm64. With
// the tag purego, for the words under -race, with a compiler other than gc and on every other
// architecture the package uses sync/atomic and time instead.
//
// The tests of an amd64 machine run the other assembly under qemu, which shows that
// instructions are encoded and used as meant. It shows nothing about memory order: that relies
// on the source named by a Primitive.
//
// With the tag systematic, for tests, a Scheduler performs each operation on a word. So a test
// explores all orders of the operations of several goroutines, of the code that is shipped:
// see SetScheduler, which only that build has, and internal/explore.
//
// # Rank
package atomics
