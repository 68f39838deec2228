//go:build systematic && simulate

package simulate

import (
	"fmt"
	"slices"
)

// A Number is a fitted number: its place in a machine, and the tried values.
type Number struct {
	Name string
	At   func(*Machine) *float64
	Try  []float64
}

// A Fit is a machine with fitted numbers, and the machines that inherit them.
type Fit struct {
	Machine string
	Numbers []Number
	Heirs   []string // of the first two numbers
}

func fitted(p Point) bool {
	return p.Section == "0/0" && (p.Workers == 8 || p.Workers == 16) && !Loose(p.Lock)
}

var (
	window = Number{"window", func(m *Machine) *float64 { return &m.Window }, []float64{0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5}}
	occupy = Number{"occupy", func(m *Machine) *float64 { return &m.Occupy }, []float64{3, 5, 7, 10, 14, 19, 26, 35, 45}}
	inside = Number{"upgrade[1]", func(m *Machine) *float64 { return &m.Upgrade[1] }, []float64{25, 40, 60, 85, 120}}
	beyond = Number{"upgrade[2]", func(m *Machine) *float64 { return &m.Upgrade[2] }, []float64{90, 120, 150, 200}}
)

// Fits are the fitted machines.
var Fits = []Fit{
	{"broadwell-2x10", []Number{window, occupy}, []string{"broadwell-2x22", "haswell-2x12"}},
	{"skylake-24", []Number{window, occupy}, []string{"skylake-8x32", "icelake-2x32"}},
	{"naples-32", []Number{window, occupy, inside, beyond}, []string{"milan-2x48", "milanx-64"}},
}

// Run returns the machine nearest to the fitted points, by the median of seeds seeds. It
// varies the numbers one by one until none changes, from three starting points.
func (f Fit) Run(seeds int) (*Machine, error) {
	m, err := Named(f.Machine)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(All, func(s Series) bool { return s.Machine == f.Machine })
	if i < 0 {
		return nil, fmt.Errorf("validate: nothing to fit %s to", f.Machine)
	}
	known := map[string]float64{}
	distance := func() (float64, error) {
		key := fmt.Sprintf("%v %v %v", m.Window, m.Occupy, m.Upgrade)
		if d, ok := known[key]; ok {
			return d, nil
		}
		all, err := All[i].Run(m, seeds, fitted)
		known[key] = Summarize(all).Typical
		return known[key], err
	}
	var best *Machine
	var least float64
	for _, quarter := range []int{2, 1, 3} { // of each list, the starting point
		for _, n := range f.Numbers {
			*n.At(m) = n.Try[len(n.Try)*quarter/4]
		}
		d, err := f.descend(m, distance)
		if err != nil {
			return nil, err
		}
		if best == nil || d < least {
			found := *m
			best, least = &found, d
		}
	}
	return best, nil
}

// descend sets one number of m after the other to the tried value that brings the model
// nearest, until none changes. It returns the remaining distance.
func (f Fit) descend(m *Machine, distance func() (float64, error)) (float64, error) {
	best, err := distance()
	for changed := true; changed && err == nil; {
		changed = false
		for _, n := range f.Numbers {
			kept := *n.At(m)
			for _, x := range n.Try {
				*n.At(m) = x
				d, err := distance()
				if err != nil {
					return 0, err
				}
				if d < best {
					best, kept, changed = d, x, true
				}
			}
			*n.At(m) = kept
		}
	}
	return best, err
}
