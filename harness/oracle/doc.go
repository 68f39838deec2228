// Package oracle decides from observations whether a lock kept its promises. It
// returns a list of Violation, empty when every rule held. The rules are conservative: a
// reported violation has happened; a run without one is evidence, not proof.
//
// Judge reads the history of one lock, with failing servers and paused and killed processes,
// and reports the anomalies that it shows.
//
// # Linearizability
//
// [CheckLinear] checks the same histories with porcupine. It searches for one order of all
// grants, releases and refusals, each at a moment between its call and its return, that a lock
// allows. For grants and releases [Judge] is exact and faster. [CheckLinear] also judges
// refusals, attempts with unknown outcome, permits and tokens together, by code that was not
// written for locks.
//
// Both have the same requirements. A hold ends at the earliest when its holder began the
// release, was notified of the loss, or was killed. A refused attempt was made while the lock
// was held. An attempt with unknown outcome took effect at any time after it began, perhaps
// several times because its request may be repeated, or never. The server may end the hold of
// an unaware client at any time.
//
// The search takes exponential time if many operations have no end. So a history is cut at
// moments without a pending operation. A window with too many operations, or without a
// decision in time, is not proven: it does not count as correct.
//
// The package imports no lock and no loop: the judge must not know the parties.
package oracle
