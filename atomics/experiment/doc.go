// Package experiment shows what the hardware does underneath a lock: whether a
// compare-and-swap without the LOCK prefix loses updates, what an arbiter made
// of switches can and cannot promise, what two counters in one cache line cost.
//
// An [Experiment] is a value with a question, a method and a function; [Suite]
// lists them. Running one gives a [Finding]: tables of medians with their
// ranges, and one sentence that answers the question from those figures.
// Absolute times differ between machines and between runs on one virtual
// machine, so the answers speak in counts and ratios.
//
// Every experiment is bounded in time, ends soon after its context, and leaves
// no goroutine and no bound thread behind. Run one at a time: two would measure
// each other.
//
// Rank 2. It imports atomics and internal/machine; it must not import a lock.
package experiment
