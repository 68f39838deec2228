// Package lab is package spinlock as the lab sees it: [Suite], a
// [harness.Variant] for every lock, and adapters that turn a [harness.Setup] into
// spinlock.Options.
//
// It also has the locks that are not for programs, one file each: peterson and
// bakery, which show what compare-and-swap is for, both also without the fence
// that they need; and reciprocating, to which a patent application applies.
//
// Rank 3. It imports spinlock, harness, atomics and internal/waiting, and must
// never import anything that runs, tests or measures a lock.
package lab
