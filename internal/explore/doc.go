// Package explore runs the workers of a lock one at a time, in every order of
// their operations that a few preemptions can bring about, and says of each
// order whether the lock kept its promises. It exists only under the build tag
// systematic: then the operations on the words of package atomics are asked of
// it instead of the CPU, so that what it explores is the code that is shipped,
// not a model of it.
//
//	go test -tags systematic ./spinlock ./internal/explore
//
// [Explore] takes any [Program]; [Lock] makes one of a lock, with its claims. A
// [Failure] is a readable trace and a line of decisions by which [Replay]
// repeats it.
//
// # What is covered
//
// All schedules of the program within its [Limits]. The next operation of any
// worker can come next. To stop a worker that could go on is a preemption, and
// those are counted; when a worker waits, sleeps or has returned, the choice of
// the next one is free. Schedules with fewer preemptions come first, so the first
// failure is one of the simplest. (Madanlal Musuvathi and Shaz Qadeer,
// "Iterative Context Bounding for Systematic Testing of Multithreaded
// Programs", PLDI 2007: nearly all bugs they knew of need two preemptions at
// most.)
//
// Memory is sequentially consistent but for a store buffer per worker, as on
// amd64 (total store order): a StoreRelease can stay invisible to others while
// its worker goes on, until the worker's next operation that is not a Load or a
// StoreRelease. This is where a missing fence shows. Each time that a worker goes
// on before its stores are visible is a reordering, and those are counted too.
// After it the buffer may empty, oldest store first, before any operation of
// another worker, at no cost.
//
// Nothing is lost by leaving a store in the buffer only if its worker goes on
// past it: others that run in between cannot tell whether the store is in the
// buffer or not yet done, which is a preemption. Nor by emptying the buffer only
// while others run. A test compares all outcomes of random programs with those
// of a machine that may do anything at any time.
//
// # Waiting
//
// A worker that calls SpinHint or atomics.Yield, or reads the same again and
// again, waits until something that it has read since it last began to wait is
// changed by another. So a spin loop is no endless number of schedules, and
// when all wait the schedule is a deadlock. A wait that ends by itself, such as
// a bounded number of polls before a sleep, is explored both ways: the worker
// also goes on until it does something else. A wait of more than 1000
// operations counts as one that never does. Workers that wait by writing are
// kept from running for ever past those they wait for, see fairness.go.
//
// # Known states
//
// A schedule is cut short where it meets a known state with no fewer preemptions
// and reorderings spent than before. A state is, for each worker, what it has
// done and which write each of its reads found; for each word the write that its
// value is of; the buffers; and which are waiting, inside and to run next. That two
// states are the same if these are is true of workers that are deterministic and
// whose other memory is written and read in an order that the words enforce. It
// is false of a lock whose plain fields are touched by two workers at once; that
// is for the race detector. States are told apart by 64 bits of hash: with a
// million states the chance to miss one is 3 in 10^8.
//
// # What is not covered
//
//   - Memory weaker than total store order: loads that pass loads or stores, on
//     arm64, riscv64, ppc64le.
//   - More preemptions, workers or acquisitions than are asked for.
//   - Plain memory: it is read and written at once.
//   - Locks that block in channels, sync.Mutex or system calls: use
//     atomics.Parker, whose own code is then explored too.
//   - Time, and how good the order of service is: it checks the order of arrival
//     where a lock claims it, by this definition: a worker that has had to wait when
//     another one does the first operation of its Lock goes first.
//
// A lost update needs two workers inside at once, and is reported as that.
//
// Rank 1. It imports atomics and harness only.
package explore
