// Package adapt turns the errors and leases of a library that knows nothing of
// the lab into those that the lab asks for: runner, oracle and conformance tests
// ask errors.Is(err, harness.ErrNotHeld), whichever library a lock is of.
//
// Rank 1. It imports harness, and must not import a lock or a client library.
package adapt
