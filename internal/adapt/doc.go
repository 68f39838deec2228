// Package adapt converts the errors and leases of a library that is independent of the
// lab to the lab's own: runner, oracle and conformance tests call errors.Is(err,
// harness.ErrNotHeld) for the locks of every library.
package adapt
