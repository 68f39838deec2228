// Package harness is the contract between the locks and everything that runs,
// tests, measures or draws them. It declares types and
// the checks of their values:
//
//   - a [Variant] describes one lock: its name, source, claims and constructor;
//   - [Local] and [Remote] are what a constructor returns: a lock inside one
//     process, or one client's view of a lock kept by servers;
//   - a [Workload] says how hard the lock is driven;
//   - a [Result] says what one round of one variant under one workload gave.
//     It carries everything a chart may need, so that a result file can be drawn
//     after its lock has been deleted.
//
// Rank 0. It imports the standard library only, and must never import a lock,
// a measuring package or a drawing package.
package harness
