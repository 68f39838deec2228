// Package layers is the shape of this repository as tests: which package may
// import which, that each says its rank in its doc.go, which modules the whole
// depends on, and that every lock is listed in its family's Suite.
//
// A package may import only packages of a lower rank, in its own test files
// too. External test packages (package x_test) may look upwards. A package
// without a rank fails, so a new one is placed on purpose.
//
// Rank 1. The package imports harness, and only external test packages import
// it.
package layers
