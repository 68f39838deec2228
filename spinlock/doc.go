// Package spinlock holds mutual-exclusion locks that wait by polling memory,
// one file each. [Suite] lists them for the lab; the exported types are for
// programs.
//
// # Should a service use one
//
// Almost never: use [sync.Mutex]. It polls for a moment too, then parks the
// goroutine, so that the processor runs the holder instead of the waiters. A
// spin lock can win only where all of this holds: the critical section is a
// few nanoseconds long and never allocates, blocks or calls a function that
// may; there are no more contenders than processors (GOMAXPROCS); and a
// measurement of your own program says so. If it does, take [Backoff], or
// [MCS] where the order of service must be the order of arrival.
//
// # What Go adds to the old warnings
//
//   - A holder can be preempted. The scheduler takes a goroutine off its
//     processor after about 10 ms, and garbage collection stops all of them.
//     Everybody else then waits for a lock whose holder is not running. In a
//     first-come first-served lock the next owner too must be running, so
//     such a lock collapses as soon as there are more waiters than processors.
//   - A waiter can stop the world from stopping. The runtime cannot interrupt
//     a goroutine inside assembly, and that is where a spin hint spends its
//     time. Every policy except [harness.WaitSpin] therefore calls
//     [runtime.Gosched] after a bounded number of hints, and busy has no hints.
//   - GOMAXPROCS(1) makes polling useless: the holder cannot run meanwhile.
//     Only waiters that yield make progress at once; others wait for
//     preemption, 10 ms at a time.
//   - Gosched is cheap, about 0.1 µs, on a plain goroutine. After
//     [runtime.LockOSThread] it hands the processor to another thread and
//     costs about 60 µs, so a locked waiter that yields is slow to notice a
//     release.
//   - The address of a word is all that a waiter polls. Every lock keeps its
//     words on cache lines of their own ([atomics.CacheLinePad] on both
//     sides), since the Go allocator packs small objects side by side. A lock
//     therefore takes some hundred bytes.
//
// # Promises
//
// Locks work between goroutines of one process; none is reentrant, and Unlock
// by anybody but the holder breaks the lock without a word. An Unlock
// synchronizes before the Lock that follows it, as for [sync.Mutex]. No
// operation allocates. A lock must not be copied after first use.
//
// Rank 2. The package imports atomics and harness, and must never import
// anything that runs, tests or measures a lock.
package spinlock
