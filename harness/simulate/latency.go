//go:build systematic && simulate

package simulate

// The duration of a request in ns without jitter: between two cores, as in ping-pong
// benchmarks, with the way to the directory if one of the sockets is the line's home.

func (s *sim) transfer(l *line, to, from int) float64 {
	d := s.m.distance(to, from)
	if d == otherSocket {
		s.counts.Remote++
	}
	return s.m.Transfer[d] + s.detour(l, to, from)
}

func (s *sim) nearest(l *line, c int) float64 {
	cluster, socket := s.parts(c)
	best, from := sameCluster, l.copies.first(cluster)
	if from == none {
		best, from = sameSocket, l.copies.first(socket)
	}
	if from == none {
		best, from = otherSocket, l.copies.first(block{0, s.m.Caches()})
		s.counts.Remote++
	}
	return s.m.Shared[best] + s.detour(l, c, from)
}

// invalidation returns the time until all copies but c's are gone: the farthest one's, plus an
// acknowledgement for each other.
func (s *sim) invalidation(l *line, c int) float64 {
	others := l.copies
	others.remove(c)
	worst, at := s.farthest(&others, c)
	if worst == otherSocket {
		s.counts.Remote++
	}
	return s.upgrade(l, c, at, worst) + s.m.Ack*float64(max(others.count()-1, 0))
}

// farthest returns the last of the caches of others that are farthest from c, and their
// distance: c itself if there are no others.
func (s *sim) farthest(others *set, c int) (d, at int) {
	cluster, socket := s.parts(c)
	if at = max(others.last(block{socket.to, s.m.Caches()}), others.last(block{0, socket.from})); at != none {
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

// upgrade returns the time until one copy is gone. A cluster that cannot rule out copies
// elsewhere asks the directory even if there are no copies, which AMD's clusters seem to
// do. In the fit to naples-32 Upgrade is longer than Transfer, which expresses that.
func (s *sim) upgrade(l *line, c, at, d int) float64 {
	took := s.m.Upgrade[d]
	if took == 0 {
		return s.m.Transfer[d] + s.detour(l, c, at)
	}
	if d == sameCluster && took > s.m.Transfer[d] && l.home != s.m.socket(c) {
		return took + s.m.Home
	}
	return took + s.detour(l, c, at)
}

func (s *sim) fromMemory(l *line, c int) float64 {
	if l.home != s.m.socket(c) {
		s.counts.Remote++
		return s.m.Memory + s.m.Home
	}
	return s.m.Memory
}

// detour returns the extra time via a directory on a third socket; clusters answer without it.
func (s *sim) detour(l *line, to, from int) float64 {
	if s.m.cluster(to) == s.m.cluster(from) || l.home == s.m.socket(to) || l.home == s.m.socket(from) {
		return 0
	}
	return s.m.Home
}

const (
	sameCore = iota
	sameCluster
	sameSocket
	otherSocket
)

func (m *Machine) cluster(cache int) int { return cache / m.Cores }
func (m *Machine) socket(cache int) int  { return cache / (m.Cores * m.Clusters) }

func (m *Machine) distance(a, b int) int {
	switch {
	case a == b:
		return sameCore
	case m.cluster(a) == m.cluster(b):
		return sameCluster
	case m.socket(a) == m.socket(b):
		return sameSocket
	}
	return otherSocket
}

func (s *sim) parts(cache int) (cluster, socket block) {
	c, k := s.m.cluster(cache)*s.m.Cores, s.m.socket(cache)*s.m.Cores*s.m.Clusters
	return block{c, c + s.m.Cores}, block{k, k + s.m.Cores*s.m.Clusters}
}

type block struct{ from, to int }
