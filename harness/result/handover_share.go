package result

import "locklab/harness"

// HandoverShare is the share of the window during which the lock was on its way from one
// worker to another, in percent. It was released and not yet granted: the mean handover
// time multiplied by their number. The lock is held for [HoldShare] times the workers.
// The rest is reacquisition by the same worker, which [Handovers] does not count. With
// think time it includes time without any request.
//
// Source: the hand-over of J. Mellor-Crummey, M. Scott, "Algorithms for Scalable
// Synchronization on Shared-Memory Multiprocessors", TOCS 9(1), 1991, as a part of the
// time per critical section.
var HandoverShare = closed(&Metric{
	Name:   "handover-share",
	Unit:   "handover-%",
	Doc:    "share of the window in which the lock was on its way from one worker to another",
	Paper:  "Mellor-Crummey & Scott 1991",
	Better: "",
	Of:     func(r *harness.Result) (float64, bool) { return ofWindow(r, HandoverMean.Of) },
	AtMost: func(r *harness.Result) (float64, bool) { return ofWindow(r, HandoverMean.AtMost) },
})

func ofWindow(r *harness.Result, of func(r *harness.Result) (float64, bool)) (float64, bool) {
	mean, ok := of(r)
	if !ok || r.Elapsed <= 0 {
		return 0, false
	}
	return min(100, 100*mean*float64(r.Handovers)/float64(r.Elapsed)), true
}
