// Package layers tests the structure of this repository: which package may import which,
// the rank in each doc.go, the modules that it depends on, and that every lock is listed
// in its family's Suite. For the libraries it tests their dependencies, that their
// documentation is for their users only, and that programs link no lock of the lab with
// them.
//
// A package may import only packages of a lower rank, in its own test files too. External
// test packages (package x_test) may import higher ranks. A package without a rank fails,
// so that each new one is placed deliberately.
//
// Rank 1. The package imports harness, and only tests import it.
package layers
