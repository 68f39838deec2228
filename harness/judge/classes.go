package judge

import (
	"cmp"
	"slices"

	"locklab/harness"
	"locklab/harness/result"
)

// TestCommand is the command that tests locks for failures.
const TestCommand = "locklab chaos --out DIR"

// decideClasses returns a copy of d for each class of pool with a recommendation.
func (s Situation) decideClasses(d Decision, pool []candidate, base candidate) (out []Decision) {
	var stronger []candidate // the recommended locks of stronger classes
	for _, class := range s.byClass(pool) {
		use, d := s.fastest(class, base), d
		d.Rule, d.Fastest = BySpeed, use.Lock.Name
		if len(stronger) > 0 {
			over := s.fastest(stronger, base)
			d.Over, d.Gain = over.Lock.Name, s.compare(use, over)
			if d.Gain == nil || d.Gain.Reading != Faster || d.Gain.Median <= 1+s.tolerance() {
				continue
			}
		}
		d.choose(s, use, class)
		c := s.classOf(use)
		d.Class, d.Prices = &c, s.weaknesses(use)
		stronger = append(stronger, use)
		out = append(out, d)
	}
	return out
}

func (s Situation) classOf(c candidate) result.Class {
	return result.ClassOf(s.group.Run.Faults, c.Lock.Name)
}

func (s Situation) byClass(pool []candidate) (out [][]candidate) {
	strength := func(c candidate) result.Strength { return s.classOf(c).Strength }
	out = result.GroupBy(pool, strength)
	slices.SortFunc(out, func(a, b []candidate) int { return cmp.Compare(strength(b[0]), strength(a[0])) })
	return out
}

// fastest returns the fastest lock of pool. Among locks within the tolerance that are not
// significantly slower, it returns the simplest.
func (s Situation) fastest(pool []candidate, base candidate) candidate {
	ordered := s.order(pool, base)
	first := ordered[0]
	near := slices.DeleteFunc(slices.Clone(ordered[1:]), func(c candidate) bool {
		r := s.compare(c, first)
		return r == nil || r.Reading == Slower || r.Median < 1/(1+s.tolerance())
	})
	return slices.MinFunc(append([]candidate{first}, near...), func(a, b candidate) int {
		return cmp.Compare(complexity(a.Lock), complexity(b.Lock))
	})
}

func complexity(l result.Lock) harness.Complexity { return cmp.Or(l.Complexity, harness.Composed+1) }

// Lacking returns the guarantees of wanted that c does not have.
func Lacking(c result.Class, wanted []result.Guarantee) []result.Guarantee {
	return slices.DeleteFunc(slices.Clone(wanted), func(g result.Guarantee) bool { return c.Lacks(g) == "" })
}
