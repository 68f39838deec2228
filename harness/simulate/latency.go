//go:build systematic && simulate

package simulate

// How long a request takes, in ns without jitter, and by which way. Latencies are
// those between two cores as ping-pong benchmarks measure them: the way to the
// directory and back is in them where one of the two sockets is the line's home.

// transfer is the time of a line from the cache that owns it.
func (s *sim) transfer(l *line, to, from int) float64 {
	d := s.distance(to, from)
	if d == otherSocket {
		s.counts.Remote++
	}
	return s.m.Transfer[d] + s.detour(l, to, from)
}

// nearest is the time of a copy from the nearest copy.
func (s *sim) nearest(l *line, c int) float64 {
	cluster, socket := s.parts(c)
	best, from := sameCluster, l.copies.first(cluster)
	if from == none {
		best, from = sameSocket, l.copies.first(socket)
	}
	if from == none {
		best, from = otherSocket, l.copies.first(block{0, len(s.where)})
		s.counts.Remote++
	}
	return s.m.Shared[best] + s.detour(l, c, from)
}

// invalidation is the time until all copies but that of c are gone and, if it
// has none, c has one: that of the farthest one, since they go at the same time, and
// an acknowledgement for each further one.
func (s *sim) invalidation(l *line, c int) float64 {
	others := l.copies
	others.remove(c)
	worst, at := s.farthest(&others, c)
	if worst == otherSocket {
		s.counts.Remote++
	}
	return s.upgrade(l, c, at, worst) + s.m.Ack*float64(max(others.count()-1, 0))
}

// farthest is the last of those of others that are farthest from c, and how far that
// is: c itself if there are none.
func (s *sim) farthest(others *set, c int) (d, at int) {
	cluster, socket := s.parts(c)
	if at = max(others.last(block{socket.to, len(s.where)}), others.last(block{0, socket.from})); at != none {
		return otherSocket, at
	}
	if at = max(others.last(block{cluster.to, socket.to}), others.last(block{socket.from, cluster.from})); at != none {
		return sameSocket, at
	}
	if at = others.last(cluster); at != none {
		return sameCluster, at
	}
	return sameCluster, c
}

// upgrade is the time until one copy is gone. A cluster that does not know whether
// there are copies elsewhere asks the directory although there are none, as AMD's seem
// to: the fit to naples-32 makes Upgrade longer than Transfer, which is how a machine
// says so.
func (s *sim) upgrade(l *line, c, at, d int) float64 {
	took := s.m.Upgrade[d]
	if took == 0 {
		return s.m.Transfer[d] + s.detour(l, c, at)
	}
	if d == sameCluster && took > s.m.Transfer[d] && l.home != s.socket(c) {
		return took + s.m.Home
	}
	return took + s.detour(l, c, at)
}

// fromMemory is the time of a line that no cache has.
func (s *sim) fromMemory(l *line, c int) float64 {
	if l.home != s.socket(c) {
		s.counts.Remote++
		return s.m.Memory + s.m.Home
	}
	return s.m.Memory
}

// detour is what the way over the directory adds where that is on a third socket.
// Inside a cluster its cache answers, and the directory is not asked.
func (s *sim) detour(l *line, to, from int) float64 {
	if s.cluster(to) == s.cluster(from) || l.home == s.socket(to) || l.home == s.socket(from) {
		return 0
	}
	return s.m.Home
}
