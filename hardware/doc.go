// Package hardware shows what the hardware does underneath a lock: whether a
// compare-and-swap without the LOCK prefix loses updates, what two counters in
// one cache line cost, how far apart two processors are, in which order they see
// each other's stores, and what an arbiter made of switches can promise.
//
// An [Experiment] is a value with a question, a method and a function; [Suite]
// lists them. Running one by [Run] gives a [harness.Finding]: tables of medians
// with their ranges, how to draw them, and a few sentences that answer the
// question from those figures. Absolute times differ between machines and
// between runs on one virtual machine, so the answers speak in counts and
// ratios.
//
// An experiment about locks is given them in [Options]; this package knows none.
//
// Every experiment is bounded in time, ends soon after its context, and leaves
// no goroutine and no bound thread behind. Run one at a time: two would measure
// each other.
//
// Rank 2. It imports atomics, harness and internal/machine; it must not import a
// lock.
package hardware
