// Command locklab measures locks and draws what it measured.
//
//	locklab list        the locks, their sources and claims
//	locklab run         measure locks and write a report
//	locklab report      draw the report of an earlier run again, or of several beside each other
//	locklab export      write the results of a run as CSV, for benchstat, for HdrHistogram
//	locklab schema      the JSON Schema of a line of results.jsonl
//	locklab compare     what changed between two runs, or two builds
//	locklab hardware    what this machine's atomic instructions are and do
//	locklab trace       how a lock kept by servers works, message by message
//	locklab env         what this machine is, and what will disturb a measurement
//
// The exit status is 0 when all went well, 1 when a lock broke a promise or
// something failed, 2 when the input was wrong, 130 after Ctrl-C. That of compare
// is its verdict: 0 no worse, 1 regressed, 2 nothing to compare, 3 too noisy to
// say.
//
// Rank 8. It is package lab with the locks of the catalog, and may import
// everything below.
package main
