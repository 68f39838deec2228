package harness

import (
	"math"
	"strings"
)

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

// A Hold is one acquisition as seen by its worker. Times are in ns on one monotonic clock
// that all workers of a process share.
type Hold struct {
	Worker    int
	Requested int64 // before Lock was called
	Acquired  int64
	Releasing int64
	Shared    bool   // by a reader, so other readers may hold the lock at the same time
	Token     uint64 // fencing token, 0 for none
}

// Share returns the first worker of rank and the number of its workers. Workers are spread as
// evenly as possible; the ranks with one more come first. Without ranks, rank 0 has them all.
func (w Workload) Share(rank int) (first, workers int) { return spread(w.Workers, w.Ranks, rank) }

// Part returns the part of w that rank drives in one process: its share of the workers,
// the clients and the rate.
func (w Workload) Part(rank int) Workload {
	if w.Ranks < 2 {
		return w
	}
	part := w
	part.Ranks = 0
	_, part.Workers = w.Share(rank)
	if w.Clients > 0 {
		_, part.Clients = spread(w.Clients, w.Ranks, rank)
	}
	part.Rate = w.Rate / Rate(w.Ranks)
	return part
}

func spread(n, over, i int) (first, share int) {
	over = max(1, over)
	start := func(i int) int { return i*(n/over) + min(i, n%over) }
	return start(i), start(i+1) - start(i)
}

// mostWorkers limits typing mistakes, per rank. Owner logs have no room for more than
// MaxUint16.
func (w Workload) mostWorkers() int {
	return min(maxWorkers*max(1, min(w.Ranks, MaxRanks)), math.MaxUint16)
}

func (w Workload) validateRanks(refuse func(mistake bool, format string, args ...any)) {
	refuse(w.Ranks < 0 || w.Ranks > MaxRanks, "ranks is %d: want 1 to %d", w.Ranks, MaxRanks)
	refuse(w.Ranks > 1 && w.Workers < w.Ranks, "workers is %d: want one for each of the %d ranks at least: they are counted over all ranks", w.Workers, w.Ranks)
	refuse(w.Ranks > 1 && w.Clients > 0 && w.Clients < w.Ranks, "clients is %d: want one for each of the %d ranks at least", w.Clients, w.Ranks)
	refuse(w.Ranks > 1 && w.Rate > 0 && w.Arrivals != Poisson, "arrivals of several ranks are drawn by each of them, which makes them a Poisson process: leave out --arrivals")
}

// Ordered reports whether the order in which the workers of r held the lock is known, and
// so the number of handovers. For a merged result that requires comparable clocks or
// fencing tokens; the result then has Owners.
func (r *Result) Ordered() bool { return len(r.Ranks) < 2 || len(r.Owners) > 0 }
