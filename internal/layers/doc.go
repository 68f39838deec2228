// Package layers is the shape of this repository as tests: which package may
// import which, that each says its rank in its doc.go, which modules the whole
// depends on, and that every lock is listed in its family's Suite. The libraries
// say nothing of all that: what they may depend on, that their documentation keeps
// to their users, and that no lock of the lab is linked with them, is tested too.
//
// A package may import only packages of a lower rank, in its own test files
// too. External test packages (package x_test) may look upwards. A package
// without a rank fails, so a new one is placed on purpose.
//
// Rank 1. The package imports harness, and only tests import it.
package layers
