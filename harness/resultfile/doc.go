// Package resultfile is the border between measuring and drawing: the only encoder and
// decoder of a run's files. A run is a directory:
//
//	manifest.json   the machine, the versions, the command, the seed
//	results.jsonl   one line per case and round, appended as it is measured
//	bench.txt       the same figures as Go benchmark lines, for benchstat
//	wait.hlog       the same waits as a log of HdrHistogram
//	handover.hlog   the same handovers
//
// Rank 3. It may import harness, metric, stat and internal/machine; it must not import a
// lock, the runner or a chart.
package resultfile
