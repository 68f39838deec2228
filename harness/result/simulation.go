package result

import (
	"bytes"
	"encoding/json"
	"slices"
)

func (r *Run) addSimulation(s *Simulation) {
	if i := slices.IndexFunc(r.Simulations, s.Same); i >= 0 {
		r.Simulations[i] = s
		return
	}
	r.Simulations = append(r.Simulations, s)
}

// addMachine adds m, replacing a machine with its name. If that was different, its
// simulations are removed.
func (r *Run) addMachine(m *ModelMachine) {
	switch i := r.machine(m.Name); {
	case i < 0:
		r.Machines = append(r.Machines, m)
	case !sameMachine(r.Machines[i], m):
		r.Machines[i] = m
		r.Simulations = slices.DeleteFunc(r.Simulations, func(s *Simulation) bool { return s.Simulated == m.Name })
	}
}

func (r *Run) machine(name string) int {
	return slices.IndexFunc(r.Machines, func(m *ModelMachine) bool { return m.Name == name })
}

func sameMachine(a, b *ModelMachine) bool {
	var x, y bytes.Buffer
	return a.Hypothetical == b.Hypothetical && json.Compact(&x, a.File) == nil && json.Compact(&y, b.File) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// AddSimulations adds the new cases of other, and returns the names of machines that it leaves
// out because r has a different one of that name.
func (r *Run) AddSimulations(other *Run) (leftOut []string) {
	for _, m := range other.Machines {
		i := r.machine(m.Name)
		if i >= 0 && !sameMachine(r.Machines[i], m) {
			leftOut = append(leftOut, m.Name)
		} else if i < 0 {
			r.Machines = append(r.Machines, m)
		}
	}
	for _, s := range other.Simulations {
		if !slices.Contains(leftOut, s.Simulated) && !slices.ContainsFunc(r.Simulations, s.Same) {
			r.Simulations = append(r.Simulations, s)
		}
	}
	return leftOut
}
