// Package locktest is the conformance suite of the lab: the promises of the
// contract in package harness, each with a check that tries to break it.
//
// A family's test file is complete with
//
//	func TestSuite(t *testing.T) { locktest.Run(t, spinlock.Suite) }
//
// [Rules] lists the promises. A check needs no *testing.T, so that [Check] can
// run the suite anywhere. LOCKLAB_STRESS=30s makes every check that depends on
// chance try for so long instead of [DefaultStress].
//
// A test of locks can only find what happens while it looks. The package's own
// tests measure how often it finds the mistakes that locks are known for: they
// run the suite on locks that are broken on purpose and demand that each is
// rejected every time, for the right reason.
//
// Rank 2. The package imports harness and internal/backend, and must never
// import a lock.
package locktest
