// Package offload runs simulations in processes of their own, of the build that can
// simulate. Words of package atomics ask one scheduler of a process, so a process
// simulates one case at a time, and several share the cases of a command.
//
// A program that simulates is built twice from one main package: as usual, and with
// the tags systematic and simulate. The usual build measures and has no hook in its
// atomic operations; [Find] finds the other one beside it, or builds it. Both call
// [Main] first.
//
// Rank 4. It imports harness, harness/simulate, internal/child and
// internal/machine.
package offload
