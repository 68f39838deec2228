// Package harness is the contract between the locks and the packages that run, test,
// measure or draw them. It declares types and validates their values:
//
//   - a [Variant] describes one lock: its name, source, claims and constructor;
//   - a constructor returns a [Local], a lock inside one process, or a [Remote],
//     one client's view of a distributed lock;
//   - a [Workload] describes how hard the lock is driven;
//   - a [Result] is the outcome of one round of one variant under one workload.
//     It carries everything a chart may need, so that a result file can be drawn
//     after its lock has been deleted.
package harness
