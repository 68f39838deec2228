// Package hardware shows the effects of the hardware underneath a lock. Does a
// compare-and-swap without the LOCK prefix lose updates? How much do two counters in one
// cache line cost? How far apart are two processors, and in which order do they see each
// other's stores? How fair is an arbiter made of switches?
//
// An [Experiment] is a value with a question, a method and a function; [Suite] lists them.
// [Run] returns a [result.Finding]: tables of medians with their ranges, chart settings, and
// a few sentences that answer the question from those figures. Absolute times differ between
// machines and between runs on one virtual machine, so the answers use counts and ratios.
//
// An experiment about locks gets them in [Options]; this package contains none.
//
// Every experiment is bounded in time, ends soon after its context, and leaves no
// goroutine and no bound thread behind. Run one at a time: two would measure each other.
package hardware
