// Package simulate runs the real code of locks on a modelled machine: caches, a directory
// that keeps them coherent, and distances between cores. A [Machine] is data. The workers
// of a lock are coroutines. Every operation on a word of package atomics is an event of
// the model, in picoseconds, and its cost comes from the model.
//
// The model needs a build with the tags systematic and simulate, so that package atomics
// calls a scheduler for every operation: see atomics.SetScheduler. A process has one
// scheduler, so runs are sequential; concurrent runs need separate processes. Machines,
// workloads and results are in every build.
//
// Each rule of the model is in one file. The protocol and the order of grants are in
// directory.go, the latency of a request in latency.go, and stores in storebuffer.go.
// Overlapping misses are in lookahead.go, threads that share a core in core.go (works),
// and waiters in doze.go. A test specifies each rule to the nanosecond
// (rules_test.go). Others check the protocol after every event and the order of loads and
// stores of x86-TSO. A run ends with an error if the lock admits two holders, stops
// making progress or panics.
//
// # Two builds
//
// A program that simulates is built twice from one main package: as usual, and with the
// tags. The usual build measures and has no hook in its atomic operations. Its [Simulate]
// returns an error: it runs the other build instead, as package lab does.
//
// # Published measurements
//
// testdata has medians published by others, with sources and licences. The measured locks
// are in C; their Go twins run on the modelled machines. [Accuracy] is in every build: it
// reads the differences from a small file, which a test compares with the current model.
//
// # Limits
//
// The model has no operating system, so it refuses more workers than hardware threads.
// A sleeper costs a fixed time to wake: [WakeUp]. It also lacks full caches and a lock's
// data outside the words of package atomics. Addresses decide which words share a line, so a
// seed repeats a run only if the allocator cannot move a lock's words to other lines: they begin
// a line or have a pad between them.
package simulate
