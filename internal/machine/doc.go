// Package machine knows the computer under test: its processors and their
// order, how to bind a thread to one, a calibrated clock and calibrated CPU
// work, and the noise that makes a measurement worth less than it looks.
//
// Rank 1. It may import atomics and harness; it must not import a lock.
package machine
