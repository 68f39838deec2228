package chart

import (
	"fmt"
	"slices"

	"locklab/internal/numfmt"
)

// SimulatedCharts returns the charts of ms that have something to draw. No two have the
// same name. All figures are simulated, except marks labelled as measured.
func SimulatedCharts(ms []*Modelled) (out []Named) {
	taken := make(map[string]bool)
	for i, m := range ms {
		slug := SlugOf(m.Like.Simulated)
		if i > 0 && ms[i-1].Like.Simulated == m.Like.Simulated { // a further workload of that machine
			slug += "-" + SlugOf(WorkloadOf(m.Like))
		}
		for n := 2; taken[slug]; n++ {
			slug = fmt.Sprintf("%s-%d", SlugOf(m.Like.Simulated), n)
		}
		taken[slug] = true
		for _, c := range ModelCharts {
			pic := c.draw(m)
			if pic.Height == 0 {
				continue
			}
			doc := c.doc
			if pic.Data.Metrics != nil {
				doc += measuredDoc
			}
			out = append(out, Named{Name: "simulated-" + c.Name + "-" + slug, Title: "Simulated on " + m.Name() + ": " + c.title,
				Doc: doc + " " + m.Accuracy() + " Workload: " + WorkloadOf(m.Like) + ".", Pic: pic, Model: m})
		}
	}
	return out
}

func (m *Modelled) DrawnLocks() string { return numfmt.Plural(len(m.Locks), "lock") }

func MachinesOf(ms []*Modelled) (names []string) {
	for _, m := range ms {
		if !slices.Contains(names, m.Name()) {
			names = append(names, m.Name())
		}
	}
	return names
}
