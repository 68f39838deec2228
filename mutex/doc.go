// Package mutex holds local locks that wait in the Go scheduler, one file
// each, and the control that tells what the harness itself costs. [Suite]
// lists them for the lab.
//
// A service that needs a lock inside one process should use [sync.Mutex]. The
// exported [Chan] is for the rare case in which a waiter must be able to give
// up when a context ends.
//
// Rank 2. The package imports harness, and must never import anything that
// runs, tests or measures a lock.
package mutex
