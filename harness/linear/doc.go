// Package linear checks histories of locks for linearizability with porcupine. It
// searches for one order of all grants, releases and refusals, each at a moment between
// its call and its return, that a lock allows.
//
// For grants and releases oracle.Judge is exact and faster. This package also judges
// refusals, attempts with unknown outcome, permits and tokens together, by code that was
// not written for locks. A test compares the two judges.
//
// The requirements equal oracle.Judge's. A hold ends at the earliest when its holder
// began the release, was notified of the loss, or was killed. A refused attempt was made
// while the lock was held. An attempt with unknown outcome took effect at any time after
// it began, perhaps several times because its request may be repeated, or never. The
// server may end the hold of an unaware client at any time.
//
// The search takes exponential time if many operations have no end. So a history is cut
// at moments without a pending operation. A window with too many operations, or without a
// decision in time, is not proven: it does not count as correct.
//
// Rank 2. It imports harness/oracle, and porcupine. It must not import a lock or a
// runner.
package linear
