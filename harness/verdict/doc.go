// Package verdict decides which lock to use, from the results of a run alone. [Groups]
// sorts the results by workload, [Tables] compares every lock of a workload with a
// baseline, and [Decisions] applies a rule to the situations that the run covers: the lock
// of the standard library, unless another one is significantly faster.
//
// It returns numbers, names and enumerations. Package reports makes sentences of them.
//
// Rank 5. It must not import a lock, a runner or a chart.
package verdict
