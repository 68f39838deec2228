// Package locktest is the conformance suite of the lab. For each promise of the contract
// in package harness it has a check that tries to break it.
//
// A family's test file is complete with
//
//	func TestSuite(t *testing.T) { locktest.Run(t, spinlock.Suite) }
//
// A family of local locks also needs a test with [UnderQEMU], which runs the suite on emulated
// CPUs. [Rules] lists the promises. A check needs no *testing.T, so [Check] can run the suite
// anywhere. LOCKLAB_STRESS=30s replaces [DefaultStress] as the duration of every check that
// depends on chance. make stress sets it for the rules that find a rare second holder soonest.
//
// Checks avoid chance if possible and drive the workers in lockstep: some hold the lock, up to
// 299 others ask for it, and the holders leave at the same moment. No worker returns before
// all have had the lock (rules contenders and wake-up). Order is judged from single arrivals. Under
// contention, it is judged by how often other workers overtake a waiter, against the share
// that queue locks show. A lock is used for 300,000 acquisitions, with waiters at each wrap of
// a counter of 6 to 16 bits, and tried 10^5 times while it is held.
//
// Not covered are faults that need more waiters, more acquisitions or a longer sleep (60
// ms; 0.6 s with servers). Distributed locks, whose acquisitions take milliseconds, have
// lower limits: 20 waiters, 300 acquisitions or abandoned waits, and faults that occur at
// least once in 60 to 100. A slow lock on a busy machine has less: the contended
// acquisitions, more than 33 contenders and most sleeps end with the stress time.
//
// No local lock may allocate in an operation, or let its holder in again, unless its
// traits declare it. Additional claims are checked (Traits.FIFO, Bounded, FollowsWait,
// ReadWrite, Permits, Reentrant), and a lock with readers must claim them. If a lock has
// several permits, all but one are taken before the other rules try it, so they apply
// unchanged. A lock that cannot run here is skipped with its reason. If another author's
// lock is known to get stuck under a rule, it declares that: [harness.Variant.MayStick].
//
// A variant whose status is Broken must fail, see [Run]. Under the race detector such a
// lock is tried by atomic words only. For all others the detector is a second check,
// since most rules guard plain memory.
//
// A test finds only faults that happen while it runs. The package's own tests measure how
// often it finds well-known mistakes. They run the suite on locks that are broken on purpose,
// and require a rejection every time, for the right reason. Local locks are tried three times
// in a test run and 20 times by make prove-locktest, and server faults once.
package locktest
