// Package oracle decides from what was observed whether a lock kept its
// promises. A verdict is a list of harness.Violation, empty when every rule
// held. The rules are conservative: what they report has happened; a run they
// pass is evidence, not proof.
//
// Rank 1. It may import harness; it must not import a lock or a runner.
package oracle
