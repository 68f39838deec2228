// Package spinlock provides mutual-exclusion locks that wait by polling memory.
//
// Some keep no state for each goroutine and are used like a [sync.Mutex]: [TAS],
// [ExchangeTAS], [TTAS], [Backoff], [Ticket] and [ProportionalTicket], whose zero values are
// free locks, and [TWA] and [Anderson]. The others keep a queue node or similar state for each
// worker, so a worker asks the lock for its own handle and uses that: [MCS], [K42], [CLH],
// [Hapax], [Hemlock], [Malthusian], [Fissile] and [Cohort].
//
//	lock := spinlock.NewMCS(workers, spinlock.Options{})
//	…
//	mu := lock.Worker(i) // in worker i
//	mu.Lock()
//	defer mu.Unlock()
//
// A handle is a [sync.Locker], and all handles except in CLH and Cohort have a TryLock method.
// A call by its own type can be inlined. A call through an interface adds up to 4 ns to an
// acquisition: BenchmarkTwin calls by type, BenchmarkLock through an interface.
//
// # Getting it
//
// The module is not published. A program that uses it replaces the module with a clone:
//
//	go mod edit -require=locklab@v0.0.0 -replace=locklab=../locklab
//	go get locklab/spinlock
//
// In a fork, make module MODULE=example.org/you/locklab gives the module that path.
//
// # Should a service use one
//
// Almost never: use [sync.Mutex]. A spin lock can win only under three conditions. The
// critical section takes a few nanoseconds and never allocates, blocks or calls a function
// that may. There are no more contenders than processors (GOMAXPROCS). A measurement of your
// own program confirms it. Then take [Backoff] if a waiter may starve, else [MCS], which
// serves in order of arrival.
//
// # What Go adds to the old warnings
//
//   - A holder can be preempted. The scheduler takes a goroutine off its processor after about
//     10 ms, and garbage collection stops all goroutines. All waiters then wait for a lock
//     whose holder is not running. In a first-come first-served lock the next owner too must
//     be running. Such a lock collapses if there are more waiters than processors, unless
//     waiters sleep: then the releaser makes the next owner run.
//   - A waiter can delay a stop of the world. The runtime cannot interrupt a goroutine inside
//     assembly, which contains the spin hint. Here a waiter passes through a Go function after
//     30 polls at most. With a waiter on every processor a stop takes 0.01 to 0.1 ms, with
//     loops that only call the spin hint 15 to 170 ms (BenchmarkStopTheWorld).
//   - GOMAXPROCS(1) makes polling useless: the holder cannot run meanwhile. Only waiters that
//     yield or sleep make progress at once; others wait for preemption, 10 ms at a time.
//   - [runtime.Gosched] is cheap, about 0.1 µs, on a plain goroutine. After
//     [runtime.LockOSThread] it hands the processor to another thread and costs about 60 µs,
//     and a wake-up costs nearly as much. Such a goroutine should yield its thread, which
//     takes 1 µs, if GOMAXPROCS is greater than the number of these goroutines. Set Pin, in
//     [Options] or in the lock.
//   - A waiter polls only the address of a word. Every lock keeps its words on separate cache
//     lines ([atomics.CacheLinePad] on both sides), since the Go allocator packs small objects
//     side by side. So a lock takes a few hundred bytes. A node, a flag or a place to sleep
//     takes the same for each worker.
//
// # How waiters wait
//
// By default ([WaitAdaptive]) a waiter polls a few times, about 1 µs, and then lets others
// run. It sleeps until it is woken if a release can find the next waiter: in all locks with
// handles, in [Anderson] and [TWA], and in [Ticket] and [ProportionalTicket] if made by their
// constructors. If there are more workers than processors it sleeps at once. In the other
// locks it yields before each further poll. Goroutines locked to threads yield their threads,
// or sleep if they outnumber the processors.
//
// [WaitPark] sleeps at once if the lock can wake its waiters, and yields otherwise. The other
// policies do as their names suggest; pause yields once every 16 polls.
//
// No waiter ever sleeps for a time.
//
// # How long a waiter waits
//
// [TAS], [ExchangeTAS], [TTAS] and [Backoff] do not bound a wait. A goroutine that takes such
// a lock again right after each release can keep another one out for as long as it continues.
// With critical sections of 0.1 ms a waiter got the lock once in 5 s or not at all.
// ([sync.Mutex] hands over to a waiter of 1 ms.) If a goroutine may be that greedy, take [MCS]
// or another lock that serves in order of arrival, or [Fissile]. In [Malthusian] a waiter may
// wait for thousands of acquisitions, in [Cohort] for 64 of each other node.
//
// # Promises
//
// Locks work between goroutines of one process. No lock is reentrant, and an Unlock by a
// goroutine that does not hold the lock breaks it, undetected. An Unlock synchronizes before
// the Lock that follows it, as for [sync.Mutex]. No operation allocates. A lock must not be
// copied after first use.
package spinlock
