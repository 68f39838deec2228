//go:build systematic && simulate

package simulate

import (
	"fmt"
	"slices"
)

// A Fit is a machine with fitted numbers, and the machines that inherit them.
type Fit struct {
	Machine string
	Numbers []Number
	Heirs   []string // of the first two numbers
}

func fitted(p Point) bool {
	return p.Section == "0/0" && (p.Workers == 8 || p.Workers == 16) && !TwinOf(p.Lock).Loose
}

var (
	inside = Number{"upgrade[1]", func(m *Machine) *float64 { return &m.Upgrade[1] }, []float64{25, 40, 60, 85, 120}}
	beyond = Number{"upgrade[2]", func(m *Machine) *float64 { return &m.Upgrade[2] }, []float64{90, 120, 150, 200}}
)

// Fits are the fitted machines.
var Fits = []Fit{
	{"broadwell-2x10", Unmeasured, []string{"broadwell-2x22", "haswell-2x12"}},
	{"skylake-24", Unmeasured, []string{"skylake-8x32", "icelake-2x32"}},
	{"naples-32", slices.Concat(Unmeasured, []Number{inside, beyond}), []string{"milan-2x48", "milanx-64"}},
}

// Run returns the machine nearest to the fitted points, by the median of seeds seeds.
func (f Fit) Run(seeds int) (*Machine, error) {
	m, err := Named(f.Machine)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(All, func(s Series) bool { return s.Machine == f.Machine })
	if i < 0 {
		return nil, fmt.Errorf("validate: nothing to fit %s to", f.Machine)
	}
	_, err = Nearest(m, f.Numbers, func() (float64, error) {
		all, err := All[i].Run(m, seeds, fitted)
		return Summarize(all).Typical, err
	})
	return m, err
}
