// Package simulate runs the real code of locks on a modelled machine: caches, a
// directory that keeps them coherent, and distances between cores. A [Machine] is
// data. The workers of a lock are coroutines; every operation on a word of package
// atomics is an event of the model, in picoseconds, and takes what the model says.
//
// The model itself needs a build with the tags systematic and simulate, in which
// package atomics asks a scheduler for every operation: see atomics.SetScheduler.
// Machines, workloads and results are in every build.
//
// Rank 2. It imports atomics and harness.
package simulate
