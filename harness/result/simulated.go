package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"locklab/harness"
)

// A Simulation is a model's prediction for a lock on a machine, not a measurement. It is
// a separate type, so that nothing takes it for a [Result].
// It has one field for each key of its line in results.jsonl.
type Simulation struct {
	Simulated    string `json:"simulated"`              // name of the machine
	Hypothetical bool   `json:"hypothetical,omitempty"` // no machine of that size was measured

	Sockets  int `json:"sockets"`
	Clusters int `json:"clusters"` // of cores that share a last-level cache, per socket
	Cores    int `json:"cores"`    // per cluster
	SMT      int `json:"smt"`      // hardware threads per core

	Lock    Lock               `json:"lock"`
	Workers int                `json:"workers"` // each on a hardware thread of its own
	Lines   int                `json:"lines"`   // cache lines that a critical section reads and writes
	Hold    float64            `json:"hold"`    // ns in the critical section in addition
	Think   float64            `json:"think"`   // ns between two acquisitions, varied by half to either side
	Wait    harness.WaitPolicy `json:"wait"`
	Apart   bool               `json:"apart,omitempty"`  // a core has a second worker only when every core has one
	Spread  bool               `json:"spread,omitempty"` // neighbours are on different sockets
	Seed    uint64             `json:"seed"`             // the first one
	Seeds   int                `json:"seeds"`

	// OnCores and OnSockets count the cores and sockets of the workers; 0 is unknown.
	OnCores   int `json:"on_cores,omitempty"`
	OnSockets int `json:"on_sockets,omitempty"`

	PerAcquisition Expected `json:"per_acquisition"` // ns of the machine's time, all workers together: acquisitions per second are 1e9 divided by it
	Handover       Expected `json:"handover"`        // ns from release to grant of another worker that waited already, mean; 0 without any
	Longest        Expected `json:"longest"`         // ns, longest wait
	Misses         Expected `json:"misses"`          // requests to the directory per acquisition
	Remote         Expected `json:"remote"`          // of them answered from another socket
	Invalidated    Expected `json:"invalidated"`     // copies per acquisition
	SameSocket     Expected `json:"same_socket"`     // share of handovers that stay on the socket
	SameWorker     Expected `json:"same_worker"`     // share of acquisitions by the last holder
	Jain           Expected `json:"jain"`            // 1 if all workers have as many acquisitions

	// Accuracy describes, in one sentence, the error of the model against
	// measurements of such a lock on such a machine; "" if unknown.
	Accuracy string `json:"accuracy,omitempty"`
}

// An Expected is a figure of a model: the median of its seeds, the least and the greatest.
type Expected struct {
	Median float64 `json:"median"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
}

const maxModelThreads = 1 << 16

// Threads returns how many hardware threads the machine has.
func (s *Simulation) Threads() int { return s.Sockets * s.Clusters * s.Cores * s.SMT }

// Throughput returns the acquisitions a second of all workers together.
func (s *Simulation) Throughput() Expected {
	p := s.PerAcquisition
	return Expected{Median: 1e9 / p.Median, Lo: 1e9 / p.Hi, Hi: 1e9 / p.Lo}
}

// Same reports whether s and t are of one case: machine, lock and workload, not seeds.
func (s *Simulation) Same(t *Simulation) bool {
	return s.Simulated == t.Simulated && s.Lock.Name == t.Lock.Name && s.Workers == t.Workers && s.Lines == t.Lines &&
		s.Hold == t.Hold && s.Think == t.Think && s.Wait == t.Wait && s.Apart == t.Apart && s.Spread == t.Spread
}

// Validate returns what is wrong with s as one line, nil if nothing is.
func (s *Simulation) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("simulation of %s on %s: %s", s.Lock.Name, s.Simulated, fmt.Sprintf(format, args...))
	}
	if s.Simulated == "" {
		return errors.New("the simulation names no machine")
	}
	if s.Lock.Name == "" {
		return errors.New("the simulation names no lock")
	}
	threads := 1
	for _, n := range []int{s.Sockets, s.Clusters, s.Cores, s.SMT} {
		if n < 1 || n > maxModelThreads/threads {
			return bad("the machine has %d x %d x %d x %d hardware threads: want 1 to %d", s.Sockets, s.Clusters, s.Cores, s.SMT, maxModelThreads)
		}
		threads *= n
	}
	switch {
	case s.Workers < 1 || s.Workers > threads:
		return bad("%d workers on %d hardware threads", s.Workers, threads)
	case s.Lines < 0 || s.Seeds < 1:
		return bad("%d lines and %d seeds: want 0 lines and 1 seed at least", s.Lines, s.Seeds)
	case s.OnCores < 0 || s.OnCores > s.Workers || s.OnSockets < 0 || s.OnSockets > min(s.Workers, s.Sockets):
		return bad("%d workers on %d cores of %d sockets", s.Workers, s.OnCores, s.OnSockets)
	case !(s.Hold >= 0) || !(s.Think >= 0) || math.IsInf(s.Hold+s.Think, 0):
		return bad("hold is %v ns and think %v ns: want 0 at least", s.Hold, s.Think)
	case s.PerAcquisition.Lo <= 0:
		return bad("per_acquisition is %v ns: want more than 0", s.PerAcquisition.Lo)
	}
	for _, e := range s.figures() {
		if x := e.Expected; !(x.Lo >= 0 && x.Lo <= x.Median && x.Median <= x.Hi && x.Hi <= e.most) {
			return bad("%s is %v, from %v to %v: want the least, the median and the greatest, 0 to %g", e.name, x.Median, x.Lo, x.Hi, e.most)
		}
	}
	return nil
}

type simulatedFigure struct {
	name, column string // in results.jsonl and in CSV
	Expected
	most float64
}

func (s *Simulation) figures() []simulatedFigure {
	const unbounded, share = math.MaxFloat64, 1 + 1e-9 // rounded
	return []simulatedFigure{
		{"per_acquisition", "ns/acq", s.PerAcquisition, unbounded}, {"throughput", "acq/s", s.Throughput(), unbounded},
		{"handover", "handover-ns", s.Handover, unbounded}, {"longest", "longest-ns", s.Longest, unbounded},
		{"misses", "misses/acq", s.Misses, unbounded}, {"remote", "remote-misses/acq", s.Remote, unbounded}, {"invalidated", "invalidated/acq", s.Invalidated, unbounded},
		{"same_socket", "same-socket", s.SameSocket, share}, {"same_worker", "same-worker", s.SameWorker, share}, {"jain", "jain", s.Jain, share},
	}
}

// A ModelMachine is the description of a machine that simulations of a run used.
type ModelMachine struct {
	Name         string          `json:"name"`
	Hypothetical bool            `json:"hypothetical,omitempty"` // no machine of that size was measured
	File         json.RawMessage `json:"file"`                   // a JSON object: the input of the model
}

// Validate returns what is wrong with m as one line, nil if nothing is.
func (m *ModelMachine) Validate() error {
	if m.Name == "" {
		return errors.New("the machine of simulations has no name")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(m.File, &fields); err != nil || fields == nil {
		return fmt.Errorf("machine %s of simulations: the file is no JSON object", m.Name)
	}
	return nil
}
