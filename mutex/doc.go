// Package mutex provides locks inside one process that are more than a spin lock:
//
//   - locks that sleep: [Mutex], [Chan], [SpinPark], [MCSPark] and, on Linux, [Futex];
//   - locks with readers: [RWMutex], [PhaseFair], [BRAVO] and [SeqLock].
//
// Most are used like a [sync.Mutex] or a [sync.RWMutex]. In SpinPark, MCSPark and BRAVO each
// worker has a handle:
//
//	lock := mutex.NewBRAVO(workers, new(sync.RWMutex), mutex.Options{})
//	…
//	mu := lock.Worker(i) // in worker i
//	mu.Lock()
//	defer mu.Unlock()
//
// # Getting it
//
// The module is not published. A program that uses it replaces the module with a clone:
//
//	go mod edit -require=locklab@v0.0.0 -replace=locklab=../locklab
//	go get locklab/mutex
//
// In a fork, make module MODULE=example.org/you/locklab gives the module that path.
//
// # Which one should a service use
//
// [sync.Mutex]. The others are here for comparison, and each suits one situation:
//
//   - [Mutex]: many goroutines contend for a short critical section, and the process has its
//     processors to itself; or waiters must get equal shares. It needs no other change of a
//     program. docs/mutex.md has the figures.
//   - [Mutex.LockContext]: a waiter must be able to give up when a context ends.
//   - [Chan]: the same, in strict order of arrival.
//   - [RWMutex]: readers that run in parallel, in place of [sync.RWMutex] without another change
//     of a program. docs/mutex.md has the figures.
//   - [BRAVO]: the same with a handle for each worker, as in the paper.
//   - [SeqLock]: a few words that are read all the time.
//
// [SpinPark] and [MCSPark] are for study: [Mutex] and [Chan] replace them without handles.
//
// # How long a waiter waits
//
// [Futex], [SpinPark] and the writers and readers of [SeqLock] do not bound a wait. A
// goroutine that takes such a lock again right after each release can keep another one out for
// as long as it continues. [Chan] and [MCSPark] serve in order of arrival. [Mutex] and
// [sync.Mutex] hand over to the waiters of 1 ms; [RWMutex], [PhaseFair] and [BRAVO] over
// [sync.RWMutex] starve no waiter.
//
// # What Go adds
//
//   - A parked goroutine costs nothing, and its wake-up takes a quarter of a microsecond. A
//     thread in the kernel takes a hundred times as long, and the scheduler notices late that
//     it sleeps: a futex is the best choice only for goroutines locked to threads
//     ([runtime.LockOSThread]).
//   - There is no cheap name for the running goroutine or thread, hence the handles per
//     worker. [RWMutex] guesses from the address of the stack, since any slot will do.
//   - Pointers are stored through the garbage collector's write barrier, so queues are linked
//     by index.
//   - The race detector does not support optimistic readers: the data under a [SeqLock] must
//     be read and written atomically.
//
// # Promises
//
// Locks work between goroutines of one process. No lock is reentrant, RLock included, and no
// lock can be upgraded from reading to writing. An Unlock by a goroutine that does not hold
// the lock breaks it silently, unless its documentation differs. An Unlock synchronizes before
// the Lock or RLock that follows it, and an RUnlock before the Lock that follows it, as for
// [sync.RWMutex]. A TryLock or TryRLock of a [Mutex] or [RWMutex] may fail although the lock is
// free, if another goroutine tries or waits at that moment. The Go memory model allows that. No
// operation allocates, except that a [Mutex] or [RWMutex] allocates a waiter if its pool is
// empty, and an RWMutex its slots once. A lock must not be copied after first use.
package mutex
