// Package lab adapts package spinlock to the lab: [Suite], a [harness.Variant] for every
// lock, and adapters that turn a [harness.Setup] into spinlock.Options.
//
// It also has the locks that are not for programs, one file each. peterson and bakery
// show the use of compare-and-swap, both also without the fence that they need. A patent
// application covers reciprocating.
package lab
