package result

import "strings"

// A Rank is one of several processes, perhaps on several hosts, that measured a case together:
// its part of the case. Each rank leaves its own Result with one Rank and only its own
// workers. Merged, they are one Result with all ranks, in the order of their numbers.
type Rank struct {
	Rank int    `json:"rank"` // 0 is the first
	Host string `json:"host"` // host name, unique in the run
	PID  int    `json:"pid"`  // process that started the measuring processes

	// The first worker of this rank; its workers are consecutive.
	First   int `json:"first"`
	Workers int `json:"workers"`

	Ops uint64 `json:"ops"` // acquisitions in its window

	// Clock names the clock of Zero, Opened and Closed. Times of ranks with equal Clock are
	// comparable: they read CLOCK_MONOTONIC of the same boot of the same kernel.
	Clock string `json:"clock"`

	// Zero is the origin of the times in Result.Holds. Opened and Closed are the ends
	// of the window. All are in ns of Clock.
	Zero   int64 `json:"zero"`
	Opened int64 `json:"opened"`
	Closed int64 `json:"closed"`

	// A time of Clock plus Offset is a time of the common clock of all ranks, in ns since
	// 1970: the clock of the server through which they met. The error is at most Error ns in
	// either direction during the whole window. Error is -1 if nothing is known.
	Offset int64 `json:"offset"`
	Error  int64 `json:"error"`

	// Late is the delay between the agreed and the actual opening of the window, in ns.
	Late int64 `json:"late"`
}

// Machine identifies the rank's machine by the boot of its kernel, else by its host name.
func (r Rank) Machine() string {
	if boot, _, ok := strings.Cut(r.Clock, " time:"); ok { // the form of measure.RankClockName
		return boot
	}
	return r.Host
}

// Ordered reports whether the order in which the workers of r held the lock is known, and
// so the number of handovers. For a merged result that requires comparable clocks or
// fencing tokens; the result then has Owners.
func (r *Result) Ordered() bool { return len(r.Ranks) < 2 || len(r.Owners) > 0 }
