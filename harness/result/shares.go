package result

import "locklab/harness"

// The time of a worker is hold, think and the rest. All workers together have the window
// times their number; hold and think are the sampled means times the acquisitions. The
// rest is waiting, for the lock or for a processor, and the calls themselves. It is a
// difference, not a sum of sampled waits, because a worker that starves through the whole
// window has no wait that ended in it.

// timeShares returns the shares of holds and thinks in the workers' time, in percent, and
// false if their error may exceed five points. A measured span contains a reading of the
// clock, which must be short relative to an acquisition.
func timeShares(r *harness.Result) (hold, think float64, ok bool) {
	const points = 5
	if r.Ops == 0 || r.Elapsed <= 0 || r.Hold.N <= beyond || !fitting(r, r.Hold.Mean(), r.Ops) {
		return 0, 0, false
	}
	period := float64(r.Elapsed) * float64(len(r.Workers)) / float64(r.Ops)
	readings := r.ClockFloor
	hold = 100 * r.Hold.Mean() / period
	if r.Workload.Think.Mean > 0 {
		if r.Think.N <= beyond {
			return 0, 0, false
		}
		think = 100 * r.Think.Mean() / period
		readings += r.ClockFloor
	}
	return hold, think, 100*readings <= points*period && hold+think <= 100+points
}

// slack is the tolerated ratio of the total of a sampled mean to its window.
const slack = 1.05

// fitting reports whether n spans with this mean fit into the window of r one after the
// other. If not, the few samples are not representative: a sampled holder had lost its
// processor for milliseconds. Spans that may overlap, with readers, several permits or
// several locks, always fit.
func fitting(r *harness.Result, mean float64, n uint64) bool {
	if r.Workload.Reads > 0 || r.Workload.Locks > 1 || r.Lock.Traits.Permits > 1 || r.Elapsed == 0 {
		return true
	}
	return mean*float64(n) <= slack*float64(r.Elapsed)
}

// HoldShare is the share of the workers' time during which they held the lock, in
// percent. If n workers share one lock without readers, one holds at a time, so it is at
// most 100/n: the difference is the lock's idle time.
//
// Source: the lock opportunity of Y. Patel, L. Yang, L. Arulraj, A. Arpaci-Dusseau, R.
// Arpaci-Dusseau, M. Swift, "Avoiding Scheduler Subversion using Scheduler-Cooperative
// Locks", EuroSys 2020, of all workers together.
var HoldShare = closed(metric("hold-share", "hold-%", "share of the workers' time in which they held the lock", "Patel et al. 2020", "",
	func(r *harness.Result) (float64, bool) {
		hold, _, ok := timeShares(r)
		return hold, ok
	}))

// WaitShare is the share of the workers' time that is neither hold nor think, in percent:
// waiting for the lock or for a processor, and taking and releasing. WaitShare,
// [HoldShare] and think time add up to 100. It is a difference of sampled means, so a
// worker that hardly waits may get 0.
//
// Source: the time per acquisition less work in T. Anderson, "The Performance of Spin
// Lock Alternatives for Shared-Memory Multiprocessors", TPDS 1(1), 1990.
var WaitShare = closed(metric("wait-share", "wait-%", "share of the workers' time that is neither hold nor think", "Anderson 1990", Lower,
	func(r *harness.Result) (float64, bool) {
		hold, think, ok := timeShares(r)
		return max(0, 100-hold-think), ok
	}))

// HandoverShare is the share of the window during which the lock was on its way from one
// worker to another, in percent. It was released and not yet granted: the mean handover
// time multiplied by their number. The lock is held for [HoldShare] times the workers.
// The rest is reacquisition by the same worker, which [Handovers] does not count. With
// think time it includes time without any request.
//
// Source: the hand-over of J. Mellor-Crummey, M. Scott, "Algorithms for Scalable
// Synchronization on Shared-Memory Multiprocessors", TOCS 9(1), 1991, as a part of the
// time per critical section.
var HandoverShare = closed(HandoverMean.derive("handover-share", "handover-%",
	"share of the window in which the lock was on its way from one worker to another", "Mellor-Crummey & Scott 1991", "",
	func(r *harness.Result, mean float64) (float64, bool) {
		v, ok := ratio(100*mean*float64(r.Handovers), float64(r.Elapsed))
		return min(100, v), ok
	}))
