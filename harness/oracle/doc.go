// Package oracle decides from observations whether a lock kept its promises. A verdict is
// a list of harness.Violation, empty when every rule held. The rules are conservative: a
// reported violation has happened; a run without one is evidence, not proof.
//
// Judge reads the history of one lock, with failing servers and paused and killed
// processes, and reports the harms that it shows.
//
// Rank 1. It may import harness; it must not import a lock or a runner.
package oracle
