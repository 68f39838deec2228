// Package machine describes the computer under test: its processors, their order,
// what they share and how to bind a thread to one; a calibrated clock, and by
// how much it errs from processor to processor; calibrated CPU work; what the
// kernel counts for a thread or a process; and the noise that makes a
// measurement worth less than it seems. It reports what a system does
// not offer, with the reason.
//
// Rank 1. It may import atomics, harness and harness/stat; it must not import a lock.
package machine
