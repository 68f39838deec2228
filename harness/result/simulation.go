package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"locklab/harness"
)

type (
	simulationLine struct {
		header
		*harness.Simulation
	}
	machineLine struct {
		header
		*harness.ModelMachine
	}
)

// EncodeSimulation returns s as one line of results.jsonl, with its newline.
func EncodeSimulation(s *harness.Simulation) ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return encodeLine(simulationLine{header{Schema, kindSimulation}, s})
}

// EncodeMachine returns m as one line of results.jsonl, with its newline.
func EncodeMachine(m *harness.ModelMachine) ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return encodeLine(machineLine{header{Schema, kindMachine}, m})
}

func decodeSimulation(text []byte) (*harness.Simulation, error) {
	l := simulationLine{Simulation: new(harness.Simulation)}
	if err := decodeLine(text, &l, "machine", func() bool { return l.Simulation != nil && l.Simulated != "" }); err != nil {
		return nil, err
	}
	clean(l.Simulation)
	if err := l.Simulation.Validate(); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return l.Simulation, nil
}

func decodeMachine(text []byte) (*harness.ModelMachine, error) {
	l := machineLine{ModelMachine: new(harness.ModelMachine)}
	if err := decodeLine(text, &l, "machine", func() bool { return l.ModelMachine != nil && l.Name != "" }); err != nil {
		return nil, err
	}
	clean(l.ModelMachine)
	if err := l.ModelMachine.Validate(); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return l.ModelMachine, nil
}

func (r *Run) addSimulation(s *harness.Simulation) {
	if i := slices.IndexFunc(r.Simulations, s.Same); i >= 0 {
		r.Simulations[i] = s
		return
	}
	r.Simulations = append(r.Simulations, s)
}

// addMachine adds m, replacing a machine with its name. If that was different, its
// simulations are removed.
func (r *Run) addMachine(m *harness.ModelMachine) {
	i := slices.IndexFunc(r.Machines, func(n *harness.ModelMachine) bool { return n.Name == m.Name })
	switch {
	case i < 0:
		r.Machines = append(r.Machines, m)
	case !sameMachine(r.Machines[i], m):
		r.Machines[i] = m
		r.Simulations = slices.DeleteFunc(r.Simulations, func(s *harness.Simulation) bool { return s.Simulated == m.Name })
	}
}

func sameMachine(a, b *harness.ModelMachine) bool {
	var x, y bytes.Buffer
	return a.Hypothetical == b.Hypothetical && json.Compact(&x, a.File) == nil && json.Compact(&y, b.File) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// AddSimulations adds the simulations of other whose cases r does not have. It omits
// simulations of a machine if r has a different machine of that name, and returns the
// names of these machines.
func (r *Run) AddSimulations(other *Run) (leftOut []string) {
	for _, m := range other.Machines {
		i := slices.IndexFunc(r.Machines, func(n *harness.ModelMachine) bool { return n.Name == m.Name })
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
type Extension struct{ results *tail }

// Extend opens the run in directory dir to add simulations, and returns its content. It
// removes a last line that a crash cut short. The error wraps harness.ErrUsage if dir has
// no run, cannot be written or is being written by another process.
func Extend(dir string) (*Extension, *Run, error) {
	if _, err := ReadManifest(dir); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, ResultsName), os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: cannot add simulations to the run in %s: %v", harness.ErrUsage, dir, err)
	}
	e := &Extension{&tail{File: f}}
	if err := lockFile(f); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%w: cannot add simulations to the run in %s: %v", harness.ErrUsage, dir, err), f.Close())
	}
	run, err := Load(dir)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	cut, err := e.results.mend()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("result: %w", err), f.Close())
	}
	if cut {
		run.Damage = run.Damage[:len(run.Damage)-1] // it was about the last line
	}
	return e, run, nil
}

// AppendSimulation adds a model's prediction for a lock. It has left this process when
// AppendSimulation returns.
func (e *Extension) AppendSimulation(s *harness.Simulation) error {
	line, err := EncodeSimulation(s)
	if err != nil {
		return err
	}
	return e.results.line(line)
}

// AppendMachine adds the machine of the simulations that follow. It hides earlier
// simulations of a different machine with the same name.
func (e *Extension) AppendMachine(m *harness.ModelMachine) error {
	line, err := EncodeMachine(m)
	if err != nil {
		return err
	}
	return e.results.line(line)
}

// Close waits until the added lines are on disk, and closes the run.
func (e *Extension) Close() error { return errors.Join(syncFile(e.results.File), e.results.Close()) }
