package harness

import (
	"fmt"
	"math"
	"strings"
)

// A Rank is one of the processes, perhaps on several hosts, that measured a case
// together: its part of the case. Each rank leaves a Result of its own, which has one
// Rank and counts its own workers only; merged, they are one Result that has all of
// them, in the order of their numbers.
type Rank struct {
	Rank int    `json:"rank"` // 0 is the first
	Host string `json:"host"` // its name, which no other machine of the run has
	PID  int    `json:"pid"`  // of the process that started the measuring processes

	// Workers of the case are those of this rank from First on.
	First   int `json:"first"`
	Workers int `json:"workers"`

	Ops uint64 `json:"ops"` // acquisitions in its window

	// Clock names the clock of Zero, Opened and Closed: ranks with the same clock read
	// one and the same, CLOCK_MONOTONIC of one boot of one kernel, and their times can be
	// compared as they are.
	Clock string `json:"clock"`

	// Zero is when the times of Result.Holds begin, and Opened and Closed are when the
	// window did, in ns of Clock.
	Zero   int64 `json:"zero"`
	Opened int64 `json:"opened"`
	Closed int64 `json:"closed"`

	// A time of Clock plus Offset is one of the clock that all ranks have in common,
	// that of the server where they met, in ns since 1970, but for Error ns at most in
	// either direction, during the whole window. Error is -1 if nothing is known.
	Offset int64 `json:"offset"`
	Error  int64 `json:"error"`

	// Late is by how much the window opened later than all ranks had agreed upon, in ns.
	Late int64 `json:"late"`
}

// Machine names what the rank ran on: by the boot of its kernel, with which Clock begins
// where the system tells it, else by its host. Some machines have the same name as others.
func (r Rank) Machine() string {
	if boot, _, ok := strings.Cut(r.Clock, " time:"); ok { // as ranks.ClockName has it
		return boot
	}
	return r.Host
}

// A Hold is one acquisition as its worker saw it. Times are in ns on one
// monotonic clock that all workers of a process share.
type Hold struct {
	Worker    int
	Requested int64 // before Lock was called
	Acquired  int64
	Releasing int64
	Shared    bool   // by a reader, beside which other readers may hold the lock
	Token     uint64 // fencing token, 0 for none
}

// MaxRanks is how many ranks a case may have.
const MaxRanks = 1024

// Share returns which workers of w run in rank: so many from first on. They are spread
// as evenly as possible; the ranks that have one more come first. Without ranks rank 0
// has them all.
func (w Workload) Share(rank int) (first, workers int) { return spread(w.Workers, w.Ranks, rank) }

// Part returns what rank has to drive of w: its share of the workers, of the clients and
// of the rate, in one process.
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
	first = i*(n/over) + min(i, n%over)
	share = n / over
	if i < n%over {
		share++
	}
	return first, share
}

// mostWorkers keeps a typing mistake from taking the machine down: it is of each rank.
// Owner logs have no room for more.
func (w Workload) mostWorkers() int {
	return min(maxWorkers*max(1, min(w.Ranks, MaxRanks)), math.MaxUint16)
}

// checkRanks returns what is wrong with the ranks of w, "" if nothing is.
func (w Workload) checkRanks() string {
	switch {
	case w.Ranks < 0 || w.Ranks > MaxRanks:
		return fmt.Sprintf("ranks is %d: want 1 to %d", w.Ranks, MaxRanks)
	case w.Ranks < 2:
	case w.Workers < w.Ranks:
		return fmt.Sprintf("workers is %d: want one for each of the %d ranks at least: they are counted over all ranks", w.Workers, w.Ranks)
	case w.Clients > 0 && w.Clients < w.Ranks:
		return fmt.Sprintf("clients is %d: want one for each of the %d ranks at least", w.Clients, w.Ranks)
	case w.Rate > 0 && w.Arrivals != Poisson:
		return "arrivals of several ranks are drawn by each of them, which makes them a Poisson process: leave out --arrivals"
	}
	return ""
}

// Ordered reports whether it is known in which order the workers of r held the lock,
// and so how often it went from one to another. Of a result that was merged from several
// ranks it is only if their clocks or the fencing tokens told: it has Owners then.
func (r *Result) Ordered() bool { return len(r.Ranks) < 2 || len(r.Owners) > 0 }
