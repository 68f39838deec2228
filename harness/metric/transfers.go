package metric

import "locklab/harness"

// HandoverTransfers is the median hand-over in units of the time that a word
// took from one processor to another around the same window: what the algorithm
// does with the machine that it has. One is the least that a hand-over between
// two processors of a shared cache can take; a worker on a farther processor, or
// one that first has to be woken, costs more. Two rounds can be compared in it
// although the machine had become slower between them. It is missing where the
// transfer was not measured or the hand-over is under the [Floor].
//
// Source: the remote memory references of J. Mellor-Crummey, M. Scott,
// "Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors",
// TOCS 9(1), 1991, measured in place of counted.
var HandoverTransfers = &Metric{
	Name:   "handover-transfers",
	Unit:   "transfers/handover",
	Doc:    "median hand-over over the time of a word from one processor to another",
	Paper:  "Mellor-Crummey & Scott 1991",
	Better: Lower,
	Of:     func(r *harness.Result) (float64, bool) { return inUnits(r, r.Transfer, HandoverTime.Of) },
	AtMost: func(r *harness.Result) (float64, bool) { return inUnits(r, r.Transfer, HandoverTime.AtMost) },
}
