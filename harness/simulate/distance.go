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
