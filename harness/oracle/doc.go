// Package oracle decides from what was observed whether a lock kept its
// promises. A verdict is a list of harness.Violation, empty when every rule
// held. The rules are conservative: what they report has happened; a run they
// pass is evidence, not proof.
//
// Judge reads the history of one lock, in which servers fail and processes are
// paused and killed, and says which harms it shows.
//
// Rank 1. It may import harness; it must not import a lock or a runner.
package oracle
