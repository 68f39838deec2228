// Package simulate runs the real code of locks on a modelled machine: caches, a
// directory that keeps them coherent, and distances between cores. A [Machine] is
// data. The workers of a lock are coroutines; every operation on a word of package
// atomics is an event of the model, in picoseconds, and takes what the model says.
//
// The model itself needs a build with the tags systematic and simulate, in which
// package atomics asks a scheduler for every operation: see atomics.SetScheduler. It
// is one for the process, so runs go one after the other; several at once go in
// processes of their own. Machines, workloads and results are in every build.
//
// Each rule of the model stands in one place: the protocol and the order of grants in
// directory.go, how long a request takes in latency.go, stores in storebuffer.go,
// misses that overlap in lookahead.go, threads that share a core in core.go (works),
// waiters in doze.go and polling.go. A test states to the nanosecond what each of them does
// (rules_test.go), others check the protocol after every event and the order of loads
// and stores of x86-TSO. A run of a lock that lets two in, comes to a standstill or
// panics ends with an error.
//
// What the model does not know: an operating system (more workers than hardware
// threads, waiters that sleep or yield: refused), caches that are full, and the data
// of a lock that is in no word of package atomics.
//
// Rank 2. It imports atomics and harness.
package simulate
