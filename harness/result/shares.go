package result

import "locklab/harness"

// A worker's time is hold, think and the rest: waiting, and the calls. Hold and think are
// sampled means times acquisitions. The rest is a difference, because a worker that starves
// has no sampled wait.

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

const slack = 1.05

// fitting reports whether n spans of this mean fit into the window, else samples are not
// representative. Spans that may overlap, of readers or several permits or locks, always fit.
func fitting(r *harness.Result, mean float64, n uint64) bool {
	if r.Workload.Reads > 0 || r.Workload.Locks > 1 || r.Lock.Traits.Permits > 1 || r.Elapsed == 0 {
		return true
	}
	return mean*float64(n) <= slack*float64(r.Elapsed)
}

// HoldShare is the share of the workers' time during which they held the lock, in percent.
// Without readers it is at most 100/n; the difference is the lock's idle time.
//
// Source: the lock opportunity of Y. Patel, L. Yang, L. Arulraj, A. Arpaci-Dusseau, R.
// Arpaci-Dusseau, M. Swift, "Avoiding Scheduler Subversion using Scheduler-Cooperative Locks",
// EuroSys 2020, of all workers together.
var HoldShare = closed(metric("hold-share", "hold-%", "share of the workers' time in which they held the lock", "Patel et al. 2020", "",
	func(r *harness.Result) (float64, bool) {
		hold, _, ok := timeShares(r)
		return hold, ok
	}))

// WaitShare is the share of the workers' time that is neither hold nor think, in percent:
// waiting, taking and releasing. It is a difference of sampled means, so a worker that hardly
// waits may get 0.
//
// Source: the time per acquisition less work in T. Anderson, "The Performance of Spin Lock
// Alternatives for Shared-Memory Multiprocessors", TPDS 1(1), 1990.
var WaitShare = closed(metric("wait-share", "wait-%", "share of the workers' time that is neither hold nor think", "Anderson 1990", Lower,
	func(r *harness.Result) (float64, bool) {
		hold, think, ok := timeShares(r)
		return max(0, 100-hold-think), ok
	}))

// HandoverShare is the share of the window, in percent, in which the lock was released and not
// yet granted to another worker, with any time without a request. The rest is [HoldShare]
// times the workers, and reacquisition.
//
// Source: the hand-over of J. Mellor-Crummey, M. Scott, "Algorithms for Scalable
// Synchronization on Shared-Memory Multiprocessors", TOCS 9(1), 1991, as a part of the time
// per critical section.
var HandoverShare = closed(HandoverMean.derive("handover-share", "handover-%",
	"share of the window in which the lock was on its way from one worker to another", "Mellor-Crummey & Scott 1991", "",
	func(r *harness.Result, mean float64) (float64, bool) {
		v, ok := ratio(100*mean*float64(r.Handovers), float64(r.Elapsed))
		return min(100, v), ok
	}))
