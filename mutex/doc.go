// Package mutex holds locks inside one process that are more than a spin lock:
//
//   - locks that sleep: [Chan], [SpinPark], [MCSPark] and, on Linux, [Futex];
//   - locks with readers: [PhaseFair], [BRAVO] and [SeqLock].
//
// Most are used like a [sync.Mutex] or a [sync.RWMutex]. SpinPark, MCSPark and BRAVO
// have something for each worker, so a worker asks the lock for its own handle, and
// uses that:
//
//	lock := mutex.NewMCSPark(workers, mutex.Options{})
//	…
//	mu := lock.Worker(i) // in worker i
//	mu.Lock()
//	defer mu.Unlock()
//
// # Getting it
//
// The module has no address to be fetched from. A program that uses it puts a clone
// in its place:
//
//	go mod edit -require=locklab@v0.0.0 -replace=locklab=../locklab
//	go get locklab/mutex
//
// In a fork, make module MODULE=example.org/you/locklab gives the module that path.
//
// # Which one should a service use
//
// [sync.Mutex]. The others are here to be compared with it, and each has one
// situation of its own: a waiter that must be able to give up when a context
// ends ([Chan.LockContext]); strict order of arrival with more goroutines than
// processors ([MCSPark]); readers on many processors and hardly a writer
// ([BRAVO]); a few words that are read all the time ([SeqLock]).
//
// # How long a waiter waits
//
// [Futex], [SpinPark] and the writers and readers of [SeqLock] put no bound on a wait: a
// goroutine that takes such a lock again as soon as it has released it can keep another
// one out for as long as it does so. ([sync.Mutex] hands over to a waiter of 1 ms.)
// [Chan] and [MCSPark] serve in order of arrival; [PhaseFair] and [BRAVO] over
// [sync.RWMutex] starve no waiter.
//
// # What Go adds
//
//   - A parked goroutine costs nothing, and to wake one takes a quarter of a
//     microsecond. A thread that sleeps in the kernel takes a hundred times as
//     long to wake, and the scheduler learns late that it sleeps. So what is
//     best for C, a futex, is not best here; and what is best here is not if
//     goroutines are locked to threads ([runtime.LockOSThread]).
//   - There is no cheap name for the running goroutine or thread. Locks that
//     keep something for each of them, a queue node or a reader's word, have a
//     handle per worker instead.
//   - Pointers are stored through the garbage collector's write barrier, so
//     queues are linked by index.
//   - The race detector does not know optimistic readers: the data under a
//     [SeqLock] must be read and written atomically.
//
// # Promises
//
// Locks work between goroutines of one process; none is reentrant, RLock
// included, and none can be upgraded from reading to writing. Unlock by another
// than the holder breaks the lock without a word, unless its documentation says
// otherwise. An Unlock synchronizes before the Lock or RLock that follows it,
// and an RUnlock before the Lock that follows it, as for [sync.RWMutex]. No
// operation allocates. A lock must not be copied after first use.
package mutex
