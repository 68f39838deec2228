package result

import (
	"path/filepath"
	"slices"
	"time"

	"locklab/harness"
)

// A Source is a run that contributed results of failure scenarios.
type Source struct {
	Dir     string
	Command []string
	Commit  string
	Started time.Time
	Faults  int // results of a scenario and a lock
}

func (r *Run) addFault(f *harness.FaultResult) {
	if i := slices.IndexFunc(r.Faults, f.Same); i >= 0 {
		r.Faults[i].Add(f)
		return
	}
	r.Faults = append(r.Faults, f)
}

// AddFaults adds the faults of other, a run of failure scenarios, and its source to r.
func (r *Run) AddFaults(other *Run) {
	for _, f := range other.Faults {
		c := *f
		c.Histories = nil
		for _, name := range f.Histories {
			c.Histories = append(c.Histories, other.HistoryFile(name))
		}
		r.addFault(&c)
	}
	m := other.Manifest
	r.Chaos = append(r.Chaos, Source{Dir: other.Dir, Command: m.Command, Commit: m.Commit, Started: m.Started, Faults: len(other.Faults)})
}

// AddPublished adds outcomes of the project's own campaign, which from describes.
func (r *Run) AddPublished(fs []*harness.FaultResult, from string) {
	for _, f := range fs {
		r.addFault(f)
		r.Published = from
	}
}

// HistoryFile returns the path of a history that a fault of r names.
func (r *Run) HistoryFile(name string) string {
	if filepath.IsAbs(name) { // AddFaults made it so; names in files are relative
		return name
	}
	dir := r.Dir
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Join(dir, name)
}
