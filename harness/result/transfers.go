package result

import "locklab/harness"

// HandoverTransfers is the median handover in units of the time to move a word from one
// processor to another around the same window: the efficiency of the algorithm on its
// machine. A handover between two processors of a shared cache takes at least one. A
// worker on a farther processor, or one that must be woken, costs more. It makes two
// rounds comparable even if the machine became slower between them. It is missing if the
// transfer was not measured or the handover is under the [Floor].
//
// Source: the remote memory references of J. Mellor-Crummey, M. Scott, "Algorithms for
// Scalable Synchronization on Shared-Memory Multiprocessors", TOCS 9(1), 1991, measured
// in place of counted.
var HandoverTransfers = &Metric{
	Name:   "handover-transfers",
	Unit:   "transfers/handover",
	Doc:    "median hand-over over the time of a word from one processor to another",
	Paper:  "Mellor-Crummey & Scott 1991",
	Better: Lower,
	Of:     func(r *harness.Result) (float64, bool) { return inUnits(r, r.Transfer, HandoverTime.Of) },
	AtMost: func(r *harness.Result) (float64, bool) { return inUnits(r, r.Transfer, HandoverTime.AtMost) },
}
