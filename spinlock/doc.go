// Package spinlock holds mutual-exclusion locks that wait by polling memory.
//
// Some keep nothing for each goroutine, and are used like a [sync.Mutex]: [TAS],
// [ExchangeTAS], [TTAS], [Backoff], [Ticket] and [ProportionalTicket], whose zero
// values are free locks, and [TWA] and [Anderson]. The others have a queue node or
// the like for each worker, so a worker asks the lock for its own handle, and uses
// that: [MCS], [K42], [CLH], [Hapax], [Hemlock], [Malthusian], [Fissile] and
// [Cohort].
//
//	lock := spinlock.NewMCS(workers, spinlock.Options{})
//	…
//	mu := lock.Worker(i) // in worker i
//	mu.Lock()
//	defer mu.Unlock()
//
// A handle is a [sync.Locker], and all but those of CLH and Cohort have a TryLock
// method. Called by its own type it can be inlined; called through an interface an
// acquisition takes up to 4 ns more (BenchmarkVia).
//
// # Getting it
//
// The module has no address to be fetched from. A program that uses it puts a clone
// in its place:
//
//	go mod edit -require=locklab@v0.0.0 -replace=locklab=../locklab
//	go get locklab/spinlock
//
// In a fork, make module MODULE=example.org/you/locklab gives the module that path.
//
// # Should a service use one
//
// Almost never: use [sync.Mutex]. It polls for a moment too, then parks the
// goroutine, so that the processor runs the holder instead of the waiters. A
// spin lock can win only where all of this holds: the critical section is a
// few nanoseconds long and never allocates, blocks or calls a function that
// may; there are no more contenders than processors (GOMAXPROCS); and a
// measurement of your own program says so. If it does, take [Backoff] if it
// does not matter that a waiter may starve, else [MCS], whose order of service is the
// order of arrival.
//
// # What Go adds to the old warnings
//
//   - A holder can be preempted. The scheduler takes a goroutine off its
//     processor after about 10 ms, and garbage collection stops all of them.
//     All others then wait for a lock whose holder is not running. In a
//     first-come first-served lock the next owner too must be running, so
//     such a lock collapses as soon as there are more waiters than processors,
//     unless they sleep: then the releaser makes the next owner run.
//   - A waiter can stop the world from stopping. The runtime cannot interrupt
//     a goroutine inside assembly, and that is where a spin hint spends its
//     time. Here a waiter passes through a Go function after 30 polls at most, where the
//     runtime can stop it. BenchmarkStopTheWorld shows the difference: with a
//     waiter on every processor a stop takes 0.01 to 0.1 ms (or a time slice of
//     the operating system, if other programs compete), with loops that only
//     call the spin hint 15 to 170.
//   - GOMAXPROCS(1) makes polling useless: the holder cannot run meanwhile.
//     Only waiters that yield or sleep make progress at once; others wait for
//     preemption, 10 ms at a time.
//   - [runtime.Gosched] is cheap, about 0.1 µs, on a plain goroutine. After
//     [runtime.LockOSThread] it hands the processor to another thread and
//     costs about 60 µs, and waking the goroutine up nearly as much. Such a
//     goroutine had better yield its thread, which takes 1 µs, if GOMAXPROCS
//     is greater than the number of these goroutines: tell the lock by
//     Pin, in [Options] or in the lock.
//   - The address of a word is all that a waiter polls. Every lock keeps its
//     words on cache lines of their own ([atomics.CacheLinePad] on both
//     sides), since the Go allocator packs small objects side by side. A lock
//     therefore takes some hundred bytes, and those with a node, a flag or a
//     place to sleep per worker that many times more.
//
// # How waiters wait
//
// By default ([WaitAdaptive]) a waiter polls a few times, about 1 µs, and then
// lets others run. In a lock that knows which waiter to wake it sleeps until it is
// woken: all that have handles, [Anderson] and [TWA], and [Ticket] and
// [ProportionalTicket] if made by their constructors. If there are more workers
// than processors it does so at once. In the other locks it yields before each
// further poll. Goroutines locked to threads yield their threads, or sleep if they
// are more than the processors. [WaitPark] means to sleep at once where that is
// possible and to yield where it is not; the other policies do what they say, and
// pause yields once every 16 polls.
//
// No waiter ever sleeps for a time.
//
// # How long a waiter waits
//
// [TAS], [ExchangeTAS], [TTAS] and [Backoff] put no bound on a wait. A goroutine that
// takes such a lock again as soon as it has released it can keep another one out for
// as long as it does so: with sections of 0.1 ms a waiter had it once in 5 s or not at
// all. ([sync.Mutex] hands over to a waiter of 1 ms.) If a goroutine may be that
// greedy, take [MCS] or another lock that serves in order of arrival, or [Fissile].
// In [Malthusian] a waiter may wait for thousands of acquisitions, in [Cohort] for 64
// of each other node.
//
// # Promises
//
// Locks work between goroutines of one process; none is reentrant, and Unlock
// by another than the holder breaks the lock, undetected. An Unlock
// synchronizes before the Lock that follows it, as for [sync.Mutex]. No
// operation allocates. A lock must not be copied after first use.
package spinlock
