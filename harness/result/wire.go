package result

import "locklab/harness"

// Requests is the messages that the clients sent per acquisition, without keep-alives. It
// repeats to about ±0.1 even on a noisy machine, so it can gate a change when a time
// cannot.
//
// Source: the counting of messages per critical section of G. Ricart, A. Agrawala, "An
// Optimal Algorithm for Mutual Exclusion in Computer Networks", CACM 24(1), 1981.
var Requests = &Metric{
	Name:   "requests",
	Unit:   "reqs/op",
	Doc:    "messages that the clients sent per acquisition",
	Paper:  "Ricart & Agrawala 1981",
	Better: Lower,
	Of: func(r *harness.Result) (float64, bool) {
		if r.Wire == nil {
			return 0, false
		}
		return per(float64(r.Wire.Requests), r.Ops)
	},
}

// Notifications is the messages that the servers sent unasked per acquisition: watch
// events and published messages. More than one on average means that a release wakes
// clients that do not get the lock.
var Notifications = &Metric{
	Name:   "notifications",
	Unit:   "notifs/op",
	Doc:    "messages that the servers sent unasked per acquisition",
	Paper:  "Hunt et al. 2010",
	Better: Lower,
	Of: func(r *harness.Result) (float64, bool) {
		if r.Wire == nil {
			return 0, false
		}
		return per(float64(r.Wire.Notifications), r.Ops)
	},
}
