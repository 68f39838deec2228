// Package merge makes one run of the parts of several ranks: processes, perhaps on
// several hosts, that measured a plan together, each with its own workers.
//
// Counts and histograms are added up, and no percentile is computed from percentiles.
// [Rules] describes how each field of a result is merged. The holds of all ranks together
// are judged like those of one process, within the accuracy of their clocks, and by
// fencing tokens.
//
// Rank 4. It may import resultfile and oracle; it must not import a lock.
package merge
