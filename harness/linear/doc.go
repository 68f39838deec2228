// Package linear checks histories of locks for linearizability with porcupine: is
// there one order of all grants, releases and refusals, each at a moment between
// its call and its return, in which a lock would have done the same?
//
// For grants and releases oracle.Judge is exact and faster. Here refusals,
// attempts without a known outcome, permits and tokens are judged together, and by
// code that was not written for locks: a test holds the two judges against each
// other.
//
// What is asked of the lock is what oracle.Judge asks. A hold ends at the
// earliest when its holder began to release the lock, was told that it lost it,
// or was killed. An attempt that was refused was made while the lock was held. An
// attempt of which the outcome is not known took effect at any time after it
// began, perhaps several times, for its request may be repeated; or never. The
// server ends the hold of a client that does not know of it as it likes.
//
// The search takes exponential time where many operations have no end. So a
// history is cut where no operation is under way, and a window that has too many,
// or is not decided in time, is not proven: it does not count as correct.
//
// Rank 2. It imports harness/oracle, and porcupine. It must not import a lock or a
// runner.
package linear
