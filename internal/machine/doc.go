// Package machine describes the computer under test:
//
//   - its processors, their order, their shared parts and how to bind a thread to one;
//   - a calibrated clock, with its error between processors, and calibrated CPU work;
//   - the kernel's counts for a thread or a process;
//   - the noise that makes a measurement less reliable.
//
// It reports missing features of a system with the reason.
//
// Rank 1. It may import atomics, harness and harness/stat; it must not import a lock.
package machine
