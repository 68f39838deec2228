// Command locklab measures locks and draws the results.
//
//	locklab list        the locks, their sources and claims
//	locklab run         measure locks and write a report
//	locklab report      draw the report of an earlier run again, or of several side by side
//	locklab export      write the results of a run as CSV, for benchstat, for HdrHistogram
//	locklab schema      the JSON Schema of a line of results.jsonl
//	locklab compare     the changes between two runs, or two builds
//	locklab hardware    this machine's atomic instructions and their effects
//	locklab trace       how a distributed lock works, message by message
//	locklab env         this machine, and the disturbances of a measurement on it
//
// The exit status is 0 on success, 1 if a lock broke a promise or something failed, 2 if
// the input was wrong, 130 after Ctrl-C. The exit status of compare is its verdict: 0 no
// worse, 1 regressed, 2 nothing to compare, 3 inconclusive.
package main
