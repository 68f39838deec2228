//go:build systematic && simulate

package simulate

const (
	sameCore = iota
	sameCluster
	sameSocket
	otherSocket
)

func (m *Machine) cluster(cache int) int { return cache / m.Cores }
func (m *Machine) socket(cache int) int  { return cache / (m.Cores * m.Clusters) }

// A site is the location of a cache, computed in advance to avoid divisions.
type site struct{ cluster, socket int32 }

func sites(m *Machine) []site {
	s := make([]site, m.Caches())
	for i := range s {
		s[i] = site{int32(m.cluster(i)), int32(m.socket(i))}
	}
	return s
}

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

func (s *sim) parts(cache int) (cluster, socket block) {
	c, k := s.cluster(cache)*s.m.Cores, s.socket(cache)*s.m.Cores*s.m.Clusters
	return block{c, c + s.m.Cores}, block{k, k + s.m.Cores*s.m.Clusters}
}

type block struct{ from, to int }
