package verdict

import (
	"slices"

	"locklab/harness/metric"
	"locklab/harness/stat"
)

// Decisive returns the situation for which the locks of a kind are ranked: of the
// situations that [Standing] returns for the main workload (the ordinary one with the
// most cases, else a long hold, else readers) the one with the most workers. ok is
// false if gs have no lock of that kind.
func Decisive(gs []*Group, remote bool) (s Situation, ok bool) {
	first, _ := Standing(gs) // the main workload comes first
	for _, x := range first {
		if x.g.Remote != remote {
			continue
		}
		if !ok || x.g == s.g && x.workers > s.workers {
			s, ok = x, true
		}
	}
	return s, ok
}

// Group returns the results that s is one of.
func (s Situation) Group() *Group { return s.g }

// Workers returns how many workers contend in s.
func (s Situation) Workers() int { return s.workers }

// Metric returns what the locks of s are ranked by.
func (s Situation) Metric() *metric.Metric { return s.metric() }

// Rate formats a figure of [Situation.Metric].
func (s Situation) Rate(v float64) string { return s.rate(v) }

// Compare returns the ratio of the rate of the lock a to that of b over the rounds
// that they share, at the confidence at which [Judge] compares them. Its N is 0 if
// the rule considers one of them not at all.
func (s Situation) Compare(a, b string) stat.Ratio {
	c := s.contest()
	all := slices.Concat(c.pool, c.rivals)
	find := func(name string) int {
		return slices.IndexFunc(all, func(x candidate) bool { return x.Lock.Name == name })
	}
	i, k := find(a), find(b)
	if i < 0 || k < 0 {
		return stat.Ratio{}
	}
	return c.compare(all[i], all[k])
}
