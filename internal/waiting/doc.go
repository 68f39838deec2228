// Package waiting is what waiters for a local lock do between two polls of it:
// one way for each [Policy]. It also checks what callers of the lock packages
// pass to constructors, so that all of them refuse a mistake with the same words.
//
// Rank 1. It imports atomics.
package waiting
