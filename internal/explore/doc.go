// Package explore runs the workers of a lock one at a time, in every order of their operations
// within a few preemptions, and checks the promises of the lock in each order. Under the build
// tag systematic it performs the operations on the words of package atomics instead of the
// CPU, so it explores the shipped code, not a model.
//
//	go test -tags systematic ./spinlock ./internal/explore
//
// [Explore] takes any [Program]; [Lock] makes one of a lock, with its claims. A [Failure] is a
// readable trace. A repeated exploration finds the same one.
//
// # What is covered
//
// All schedules of the program within its [Limits]. The next operation of any worker can come
// next. Stopping a worker that could continue is a preemption, and preemptions are counted.
// When a worker waits, sleeps or has returned, the choice of the next one is free. Schedules
// with fewer preemptions come first, so the first failure is one of the simplest. (Madanlal
// Musuvathi and Shaz Qadeer, "Iterative Context Bounding for Systematic Testing of
// Multithreaded Programs", PLDI 2007: nearly all bugs they knew of need two preemptions at
// most.)
//
// Memory is sequentially consistent except for a store buffer per worker, as on amd64 (total
// store order). A StoreRelease can stay invisible to others until the worker's next operation
// other than a Load or a StoreRelease. This exposes a missing fence. Each time a worker
// continues before its stores are visible is a reordering, and reorderings are counted too.
// Afterwards the buffer may empty, oldest first, before any operation of another worker.
//
// Nothing is lost by that: workers that run in between cannot distinguish a buffered store
// from a store not yet done. A test compares all outcomes of random programs with a machine
// that may do anything at any time.
//
// # Waiting
//
// A worker that calls SpinHint or atomics.Yield, or reads the same value repeatedly, waits
// until another worker changes something that it has read since it last began to wait. So a
// spin loop does not produce endless schedules, and if all workers wait the schedule is a
// deadlock. A wait that ends without a change, such as a bounded number of polls before a
// sleep, is explored both ways: the worker also continues until it does something else. A wait
// of more than 1000 operations counts as infinite while the words have the same values. Workers
// that wait by writing must not run forever ahead of the workers they wait for, see section.go.
//
// # Known states
//
// A schedule is cut short at a known state if it has spent no fewer preemptions and
// reorderings than before. A state contains, for each worker, its operations and the write
// that each of its reads found; for each word the write of its value; the buffers; and which
// workers wait, are inside and run next. That is enough if workers are deterministic and the
// words order all accesses to other memory; the race detector finds locks with plain fields
// that two workers access at once. States are compared by 64 bits of hash: with a million
// states the chance to miss one is 3 in 10^8.
//
// # What is not covered
//
//   - Memory weaker than total store order: loads that pass loads or stores, on arm64,
//     riscv64, ppc64le.
//   - More preemptions, workers or acquisitions than requested.
//   - Plain memory: it is read and written at once.
//   - A number of polls that changes only what a waiter does after its wait. A waiter polls once
//     for each change, or until it does something else.
//   - Locks that block in channels, sync.Mutex or system calls: use atomics.Parker, whose own
//     code is then explored too.
//   - Time and the quality of service order. It checks the order of arrival if a lock claims
//     it: a worker that has had to wait when another one does the first operation of its Lock
//     goes first.
//
// A lost update needs two workers inside at once, and is reported as such.
package explore
