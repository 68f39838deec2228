package harness

import "math"

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
