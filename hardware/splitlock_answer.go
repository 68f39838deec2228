package hardware

import (
	"fmt"
	"locklab/internal/numfmt"
)

// slowed is the factor from which a neighbour counts as slowed down, above noise.
const slowed = 1.5

// splitAnswer reports the additional cost of each access across two lines, and the slowed
// neighbours, compared with the same access inside a line.
func splitAnswer(selves []*splitCell, beside []*neighbourCell) string {
	var costs []string
	dear := false
	for _, a := range splitAccesses {
		factor := splitFactor(selves, a.name)
		costs = append(costs, fmt.Sprintf("%s %s", a.name, number(factor)))
		dear = dear || a.locked && factor >= slowed
	}
	var neighbours []string
	stopped := false
	for _, c := range beside {
		factor := summarize(ratios(c.split, c.inside)).Median
		neighbours = append(neighbours, fmt.Sprintf("%s times in %s", number(factor), c.work.name))
		stopped = stopped || factor >= slowed
	}
	s := "As a multiple of the time inside a line, across two takes " + numfmt.List(costs, len(costs)) +
		". With LOCK a neighbour on another CPU then takes " + numfmt.List(neighbours, len(neighbours)) + ". "
	switch {
	case dear && stopped:
		return s + "So inside a line the lock is on the cache line; across two it stops others too, as a lock of the bus does."
	case dear:
		return s + "So it is dear, but it was not seen to stop others."
	}
	return s + "So no lock of the bus was seen."
}

func splitFactor(cells []*splitCell, access string) float64 {
	var aligned *splitCell
	for _, c := range cells {
		switch {
		case c.access.name != access:
		case aligned == nil:
			aligned = c
		case c.place.splits():
			return summarize(ratios(c.ns, aligned.ns)).Median
		}
	}
	return 1
}
