package result

import (
	"bytes"
	"encoding/json"
	"errors"
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

// An Extension adds simulations to a run that is on disk already, and leaves the rest
// unchanged. One Writer or Extension at a time owns a run; on systems without flock, that
// is not enforced.
type Extension struct{ appender }

// Extend opens the run in directory dir to add simulations, and returns its content. It
// removes a last line that a crash cut short. The error wraps harness.ErrUsage if dir has
// no run, cannot be written or is being written by another process.
func Extend(dir string) (*Extension, *Run, error) {
	results, run, err := reopen(dir, "add simulations to", 0, func(*Run) string { return "" })
	if err != nil {
		return nil, nil, err
	}
	return &Extension{appender{results}}, run, nil
}

// Close waits until the added lines are on disk, and closes the run.
func (e *Extension) Close() error { return errors.Join(syncFile(e.results.File), e.results.Close()) }

// An appender adds lines to results.jsonl.
type appender struct{ results *tail }

// write adds a line by one write call: a crash can cut the last line, never mix two.
func (a appender) write(line []byte, err error) error {
	if err != nil {
		return err
	}
	_, err = a.results.Write(line)
	return wrapped(err)
}

// AppendSimulation adds a model's prediction for a lock. It has left this process when
// AppendSimulation returns.
func (a appender) AppendSimulation(s *Simulation) error {
	return a.write(Encode(Record{Simulation: s}))
}

// AppendMachine adds the machine of the simulations that follow. It hides earlier
// simulations of a different machine with the same name.
func (a appender) AppendMachine(m *ModelMachine) error {
	return a.write(Encode(Record{Machine: m}))
}
