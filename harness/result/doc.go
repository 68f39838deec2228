// Package result has the results of a run: what a worker records, the files of a run, and
// the figures computed from them.
//
//   - A [Result] is the outcome of one round of one lock under one workload. It carries
//     everything a chart may need, so that a result file can be drawn after its lock has been
//     deleted.
//   - [Recorder] and [OwnerLog] are written by a worker. They do not allocate, lock or
//     read a clock after construction.
//   - [Writer] and [Load] are the only encoder and decoder of a run's directory:
//     manifest.json (machine, versions, command, seed), results.jsonl (a line per case and
//     round), bench.txt (Go benchmark lines), wait.hlog and handover.hlog (HdrHistogram).
//   - [Metrics] lists every figure of a [Result]: a declarative [Metric] with its
//     unit, source and one pure function.
//   - [Merge] makes one run of the parts of several ranks. Counts and histograms are added
//     up by [MergeRules]; no percentile is computed from percentiles. All holds are judged
//     together, within the accuracy of the clocks.
//   - [JudgeFault] compares the outcome of a failure scenario with its expectation. From
//     these follow [Guarantees] and [ClassOf]. An untested guarantee is "not tested".
//
// It imports no lock, no loop and no chart: a file can be read after its locks are gone.
package result
