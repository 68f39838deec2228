package result

import (
	"bytes"
	"slices"
)

// addMachine adds m, replacing a machine with its name. If that was different, its
// simulations are removed.
func (r *Run) addMachine(m *ModelMachine) {
	i := slices.IndexFunc(r.Machines, func(old *ModelMachine) bool { return old.Name == m.Name })
	switch {
	case i < 0:
		r.Machines = append(r.Machines, m)
	case r.Machines[i].Hypothetical != m.Hypothetical || !bytes.Equal(r.Machines[i].File, m.File):
		r.Machines[i] = m
		r.Simulations = slices.DeleteFunc(r.Simulations, func(s *Simulation) bool { return s.Simulated == m.Name })
	}
}
