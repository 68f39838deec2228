// Package waiting is what waiters for a local lock do between two looks at it:
// one way for each [locklab/harness.WaitPolicy].
//
// Rank 1. It imports harness and atomics.
package waiting
