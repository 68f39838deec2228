// Package locktest is the conformance suite of the lab: the promises of the
// contract in package harness, each with a check that tries to break it.
//
// A family's test file is complete with
//
//	func TestSuite(t *testing.T) { locktest.Run(t, spinlock.Suite) }
//
// and for a family of local locks one of [UnderQEMU], which runs the suite on
// emulated CPUs. [Rules] lists the promises. A check needs no *testing.T, so
// that [Check] can run the suite anywhere. LOCKLAB_STRESS=30s makes every check
// that depends on chance try for so long instead of [DefaultStress]; make stress
// does so for the rules that find a rare second holder soonest.
//
// Chance is the last resort. Where it can be done, a check drives the workers in
// lockstep: some hold the lock, up to 299 others ask for it, the holders leave at
// the same moment, and no worker comes back before all have had it (rules crowd
// and wake-up). Order is judged from arrivals one after the other, and under
// contention by how often each other worker goes ahead of one that waits, against
// the share that locks with a queue show. A lock is used for 300,000 acquisitions, with
// waiters where a counter of 6 to 16 bits wraps, and tried 10^5 times while it is held.
//
// Not covered: what needs more waiters, more acquisitions or a longer sleep
// than that (60 ms; 0.6 s with servers), and of locks kept by servers, whose
// acquisitions take milliseconds, what needs more than 20 waiters or 300
// acquisitions or given-up waits, or happens more seldom than once in 60 to
// 100. A slow lock on a busy machine has less: the contended acquisitions, the
// crowds beyond 33 and most sleeps end with the stress time.
//
// No local lock may allocate in an operation, or let its holder in again, unless its
// traits declare it. A lock that claims more (Traits.FIFO, Bounded, FollowsWait, ReadWrite, Permits, Reentrant) is held
// to it, and one that has readers must claim them. Of a lock with several
// permits all but one are taken before the other rules try it, so they apply to
// it unchanged. A lock that cannot run here is skipped with its reason. One of others
// that is known to get stuck under a rule declares it: [harness.Variant.MayStick].
//
// A variant whose status is Broken must fail, see [Run]. Under the race detector
// such a lock is tried by atomic words only; for all others the detector is a
// second judge, since most rules guard plain memory.
//
// A test of locks can only find what happens while it runs. The package's own
// tests measure how often it finds the mistakes that locks are known for: they
// run the suite on locks that are broken on purpose and demand that each is
// rejected every time, for the right reason: local locks three times in a test
// run and 20 by make prove-locktest, the faults of a server once.
//
// Rank 2. The package imports atomics, harness, harness/oracle, internal/backend
// and internal/qemu, and must never import a lock.
package locktest
