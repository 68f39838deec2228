// Package mutex holds local locks that are more than a spin lock, one file
// each, and the controls of the lab. [Suite] lists them; the exported types are
// for programs:
//
//   - locks that sleep: [Chan], [SpinPark], [MCSPark], [Futex] (Linux), next to
//     [sync.Mutex] and golang.org/x/sync/semaphore;
//   - locks with readers: [PhaseFair], [BRAVO], [SeqLock], next to
//     [sync.RWMutex];
//   - controls: empty, which tells what the harness itself costs, and locks that
//     are broken on purpose, which every checker must flag.
//
// # Which one should a service use
//
// [sync.Mutex]. The others are here to be compared with it, and each has one
// situation of its own: a waiter that must be able to give up when a context
// ends ([Chan.LockContext]); strict order of arrival with more goroutines than
// processors ([MCSPark]); readers on many processors and hardly a writer
// ([BRAVO]); a few words that everybody reads all the time ([SeqLock]).
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
// included, and none can be upgraded from reading to writing. Unlock by anybody
// but the holder breaks the lock without a word, unless its documentation says
// otherwise. An Unlock synchronizes before the Lock or RLock that follows it,
// and an RUnlock before the Lock that follows it, as for [sync.RWMutex]. Only
// the semaphore allocates. A lock must not be copied after first use.
//
// Rank 2. The package imports atomics and harness, and must never import
// anything that runs, tests or measures a lock.
package mutex
