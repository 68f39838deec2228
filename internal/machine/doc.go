// Package machine describes the computer under test: its processors, their order and shared parts,
// and how to bind a thread to one. It provides a calibrated clock with its error between
// processors, calibrated CPU work, and the kernel's counters for a thread or a process. It also
// measures the noise that makes a measurement unreliable. If a system does not offer something, the
// package reports the reason.
package machine
