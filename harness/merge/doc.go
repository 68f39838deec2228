// Package merge makes one run of the parts that several ranks left of it: processes,
// perhaps on several hosts, that measured a plan together, each its own workers.
//
// Counts and histograms are added up, and no percentile is made of percentiles. [Rules]
// says of each field of a result how it is merged. The holds of all ranks together are
// judged as those of one process are, as far as their clocks tell, and by fencing tokens.
//
// Rank 4. It may import resultfile and oracle; it must not import a lock.
package merge
