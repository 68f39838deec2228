// Package offload runs simulations in separate processes of the simulating build. Words
// of package atomics use one scheduler per process, so a process simulates one case at a
// time, and several share the cases of a command.
//
// A program that simulates is built twice from one main package: as usual, and with the
// tags systematic and simulate. The usual build measures and has no hook in its atomic
// operations. [Find] finds the other one next to it, or builds it. Both call [Main]
// first.
package offload
