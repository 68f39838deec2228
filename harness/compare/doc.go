// Package compare says what changed between two runs, and how sure that is:
//
//	two resultfile.Runs  →  pairs of cases  →  ratio, interval, corrected p  →  verdict
//
// A difference counts only if it exceeds a threshold, passes a test that is
// corrected for the number of comparisons, and has an interval that leaves 1
// out. That nothing changed is said only where the interval excludes
// a change above the threshold; the rest is too noisy to say.
//
// [Over] says of several runs which cases moved to another level and stayed there,
// a series for each machine: runs of different days differ by more than the code,
// so that neighbours differ is no change yet.
//
// Rank 4. It may import resultfile and metric; it must not import a lock.
package compare
