// Package explore runs the workers of a lock one at a time, in every order of their
// operations that a few preemptions can cause. It reports for each order whether the lock
// kept its promises. It exists only under the build tag systematic: then it performs the
// operations on the words of package atomics in place of the CPU. So it explores the code
// that is shipped, not a model of it.
//
//	go test -tags systematic ./spinlock ./internal/explore
//
// [Explore] takes any [Program]; [Lock] makes one from a lock, with its claims. A
// [Failure] is a readable trace and a line of decisions for [Replay].
//
// # Coverage
//
// The explorer covers all schedules of the program within its [Limits]. The next
// operation of any worker can come next. Stopping a worker that could continue is a
// preemption, which is counted. When a worker waits, sleeps or has returned, the choice
// of the next one is free. Schedules with fewer preemptions come first, so the first
// failure is one of the simplest. (Madanlal Musuvathi and Shaz Qadeer, "Iterative Context
// Bounding for Systematic Testing of Multithreaded Programs", PLDI 2007: nearly all bugs
// in their study need two preemptions at most.)
//
// Memory is sequentially consistent except for a store buffer per worker, as on amd64
// (total store order). A StoreRelease can stay invisible to others while its worker
// continues, until the worker's next operation that is not a Load or a StoreRelease. This
// exposes a missing fence. If a worker continues before its stores are visible, this is a
// reordering, which is counted too. After it the buffer may empty, oldest store first,
// before any operation of another worker, at no cost.
//
// It is enough to leave a store in the buffer only if its worker continues past it. Other
// workers that run in between cannot distinguish a store in the buffer from a store not
// yet done, which is a preemption. It is also enough to empty the buffer only while
// others run. A test compares all outcomes of random programs with the outcomes of a
// machine that may do anything at any time.
//
// # Waiting
//
// A worker that calls SpinHint or atomics.Yield, or reads the same values repeatedly,
// waits until another worker changes something that it has read since it last began to
// wait. So a spin loop is not an endless number of schedules, and if all workers wait the
// schedule is a deadlock. A wait that ends without a change, such as a bounded number of
// polls before a sleep, is explored both ways: the worker also continues until it does
// something else. A wait of more than 1000 operations counts as endless. Workers that
// wait by writing must let the workers they wait for run, see fairness.go.
//
// # Known states
//
// A schedule is cut short if it reaches a known state without fewer preemptions or
// reorderings than before. A state has, for each worker, its operations and the write
// that each of its reads found; for each word the write of its value; the buffers; and
// the workers that wait, are inside and run next. This identifies a state if the workers
// are deterministic and the words enforce an order on their other memory. It does not for
// a lock whose plain fields are touched by two workers at once; the race detector finds
// that. States are distinguished by 64 bits of hash: with a million states the chance to
// miss one is 3 in 10^8.
//
// # Not covered
//
//   - Memory weaker than total store order: loads that pass loads or stores, on arm64,
//     riscv64, ppc64le.
//   - More preemptions, workers or acquisitions than requested.
//   - Plain memory: it is read and written at once.
//   - Locks that block in channels, sync.Mutex or system calls: use atomics.Parker, whose
//     own code is then explored too.
//   - Time, and the quality of the order of service. It checks the order of arrival if a
//     lock claims it, with this definition: a worker that has had to wait when another
//     one performs the first operation of its Lock goes first.
//
// A lost update needs two workers inside at once, and is reported as that.
//
// Rank 1. It imports atomics and harness only.
package explore
