//go:build systematic && simulate

package simulate

// The distances, indexes of Transfer and Shared.
const (
	sameCore = iota
	sameCluster
	sameSocket
	otherSocket
)

func (m *Machine) cluster(cache int) int { return cache / m.Cores }
func (m *Machine) socket(cache int) int  { return cache / (m.Cores * m.Clusters) }

// A site is where a cache is, without a division.
type site struct{ cluster, socket int32 }

// sites returns where the caches of m are.
func sites(m *Machine) []site {
	s := make([]site, m.Caches())
	for i := range s {
		s[i] = site{int32(m.cluster(i)), int32(m.socket(i))}
	}
	return s
}

// socket and cluster are those of Machine.
func (s *sim) socket(cache int) int  { return int(s.where[cache].socket) }
func (s *sim) cluster(cache int) int { return int(s.where[cache].cluster) }

func (s *sim) distance(a, b int) int {
	switch x, y := s.where[a], s.where[b]; {
	case a == b:
		return sameCore
	case x.cluster == y.cluster:
		return sameCluster
	case x.socket == y.socket:
		return sameSocket
	}
	return otherSocket
}

// parts returns the caches of the cluster and of the socket of a cache: from the first
// of them to before the end.
func (s *sim) parts(cache int) (cluster, socket block) {
	c, k := s.cluster(cache)*s.m.Cores, s.socket(cache)*s.m.Cores*s.m.Clusters
	return block{c, c + s.m.Cores}, block{k, k + s.m.Cores*s.m.Clusters}
}

// A block is caches that follow one another.
type block struct{ from, to int }
