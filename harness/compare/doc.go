// Package compare finds the changes between two runs, and their significance:
//
//	two resultfile.Runs  →  pairs of cases  →  ratio, interval, corrected p  →  verdict
//
// A difference counts only if it exceeds a threshold, passes a test corrected for the
// number of comparisons, and has an interval that excludes 1. A case counts as unchanged
// only if the interval excludes a change above the threshold. The rest is inconclusive.
//
// [Over] finds the cases of several runs that moved to another level and stayed there, in
// one series per machine. Runs of different days differ by more than the code, so a
// difference between neighbours is not a change yet.
//
// Rank 4. It may import resultfile and metric; it must not import a lock.
package compare
