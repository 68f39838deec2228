// Package recorder has the data structures that a worker writes during a measurement: a
// latency histogram and the owner log. One worker owns one recorder; nothing here
// allocates, locks or reads a clock after construction.
//
// Rank 1. It may import harness and atomics; it must not import a lock or a file format.
package recorder
