// Package judge decides from the results of runs alone. It returns numbers, names and
// enumerations; package reports makes sentences of them.
//
//   - [Groups] sorts the results of a run by workload, [Tables] compares every lock of a
//     workload with a baseline, and [Decisions] applies a rule to the situations that the
//     run covers: the lock of the standard library, unless another one is significantly
//     faster.
//   - [Compare] finds the changes between two runs. A difference counts only if it exceeds
//     a threshold, passes a test corrected for the number of comparisons, and has an
//     interval that excludes 1. A case counts as unchanged only if the interval excludes a
//     change above the threshold. The rest is inconclusive.
//   - [NewHistory] finds the cases of several runs that moved to another level and stayed
//     there, in one series per machine.
//   - [Model] predicts a distributed lock at another round trip. It uses the trips that
//     follow one another ([result.Trips]) and the times near the servers. Nothing is
//     fitted at a distance, so a measurement there can refute it.
//   - [Contenders] predicts more contenders. Its [Law] is fitted to the points up to a
//     tenth of the most contenders; the other points check it ([Contenders.LeftOut]).
//
// It imports no lock and no loop.
package judge
