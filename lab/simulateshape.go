package lab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/simulate"
	"locklab/internal/machine"
	"locklab/internal/stat"
)

// shapeOf returns a machine with the sockets, clusters, cores and threads of t, without
// times. An irregular machine gets one cluster per socket, or one socket.
func shapeOf(t machine.Topology) *simulate.Machine {
	count := func(key func(machine.Place) int) int {
		seen := make(map[int]bool)
		for _, p := range t {
			seen[key(p)] = true
		}
		return len(seen)
	}
	sockets := count(func(p machine.Place) int { return p.Package })
	caches := count(func(p machine.Place) int { return p.Cache })
	cores := count(func(p machine.Place) int { return p.Core })
	for _, m := range []*simulate.Machine{
		{Sockets: sockets, Clusters: caches / sockets, Cores: cores / max(1, caches), SMT: len(t) / cores},
		{Sockets: sockets, Clusters: 1, Cores: cores / sockets, SMT: len(t) / cores},
		{Sockets: 1, Clusters: 1, Cores: cores, SMT: len(t) / cores},
	} {
		if m.Threads() == len(t) {
			return m
		}
	}
	return &simulate.Machine{Sockets: 1, Clusters: 1, Cores: len(t), SMT: 1}
}

var distances = map[machine.Relation]int{
	machine.SMTSiblings: 0, machine.SameCache: 1, machine.SameNode: 2, machine.SamePackage: 2,
	machine.OtherNode: 3, machine.OtherPackage: 3, machine.Unknown: 2,
}

// transfers returns the median one-way time of a word, in ns, by distance, from the field of
// the experiment core-to-core. pairs is the number of pairs at each distance, possibly 0.
func transfers(f *harness.Finding, t machine.Topology) (times [4]float64, pairs [4]int, err error) {
	i := slices.IndexFunc(f.Tables, func(t harness.Table) bool { return t.Chart == harness.Heat })
	if i < 0 {
		return times, pairs, fmt.Errorf("%w: the finding %s has no field of pairs", harness.ErrUsage, f.Name)
	}
	var by [4][]float64
	for a, row := range f.Tables[i].Rows {
		for b := a + 1; b < min(len(row.Cells), len(f.Tables[i].Columns)); b++ {
			x, e1 := strconv.Atoi(row.Label)
			y, e2 := strconv.Atoi(f.Tables[i].Columns[b].Name)
			c := row.Cells[b]
			if e1 != nil || e2 != nil || c.N == 0 || !(c.Median > 0) {
				continue
			}
			at := distances[t.Relation(x, y)]
			by[at] = append(by[at], c.Median)
		}
	}
	known := 0
	for i, xs := range by {
		if pairs[i] = len(xs); len(xs) > 0 {
			times[i] = stat.Median(xs)
			known++
		}
	}
	if known == 0 {
		return times, pairs, fmt.Errorf("%w: core-to-core has no time between two processors that this program may use", harness.ErrUsage)
	}
	return times, pairs, nil
}

// filled returns times with zeros replaced by the next nearer, or else farther one.
func filled(times [4]float64) [4]float64 {
	for i := range times {
		for d := 1; times[i] == 0 && d < len(times); d++ {
			if i >= d {
				times[i] = times[i-d]
			}
			if times[i] == 0 && i+d < len(times) {
				times[i] = times[i+d]
			}
		}
	}
	return times
}

// alone returns the time of an operation by one processor, in ns, from the experiment cost.
func alone(f *harness.Finding, operation string) (float64, error) {
	for _, t := range f.Tables {
		for _, r := range t.Rows {
			if r.Label == operation && len(r.Cells) > 0 && len(t.Columns) > 0 && t.Columns[0].Name == "alone" && r.Cells[0].Median > 0 {
				return r.Cells[0].Median, nil
			}
		}
	}
	return 0, fmt.Errorf("lab: the experiment %s does not tell what %q takes", f.Name, operation)
}

func pauseTime() float64 {
	const batches, hints = 31, 2000
	var ns []float64
	for range batches {
		begin := time.Now()
		for range hints {
			atomics.SpinHint(1)
		}
		ns = append(ns, float64(time.Since(begin))/hints)
	}
	return math.Max(stat.Median(ns), 0.1)
}

func describe(m *simulate.Machine, t machine.Topology, hops, cost *harness.Finding) error {
	times, pairs, err := transfers(hops, t)
	if err != nil {
		return err
	}
	const here = "measured here"
	m.Name, m.Evidence = this, simulate.Fitted
	m.Doc = "the machine that it ran on: " + machine.Capture().String()
	m.GHz = 1
	m.Transfer = filled(times)
	for i, x := range m.Transfer {
		m.Shared[i], m.Upgrade[i] = 0.7*x, x
	}
	operations := []struct {
		name  string
		field *float64
		of    string
	}{{"hit", &m.Hit, "load"}, {"store", &m.Store, "store-release"}, {"rmw", &m.RMW, "CAS that hits"}}
	m.Sources = map[string]string{}
	for _, o := range operations {
		if *o.field, err = alone(cost, o.of); err != nil {
			return err
		}
		m.Sources[o.name] = fmt.Sprintf("%s: the experiment cost, %q by one processor", here, o.of)
	}
	m.Shared[0] = m.Hit
	m.Pause, m.Fence, m.Ack, m.Jitter = pauseTime(), 4, 0.5, 0.1
	m.Memory = max(90, m.Transfer[2])
	m.Favour = 4
	m.Reach, m.Sibling = 20, 1
	m.Occupy, m.Window = m.Transfer[1]/5, 0.3
	for _, name := range []string{"sockets", "clusters", "cores", "smt"} {
		m.Sources[name] = here + ": what the system tells of its processors"
	}
	m.Sources["transfer"] = fmt.Sprintf("%s: the experiment core-to-core, medians of %v pairs; where there is no pair, as the next nearer or farther", here, pairs)
	m.Sources["pause"] = here + ": a loop of spin hints"
	for name, why := range map[string]string{
		"ghz": "not used by the model", "shared": "0.7 of transfer", "upgrade": "as transfer", "memory": "plausible; lines of a lock are in memory only once",
		"fence": "plausible, not measured", "ack": "plausible, not measured", "jitter": "plausible, not measured", "yield": "as pause",
		"favour": "as on broadwell-2x10", "reach": "what was best for twins of the locks on a Zen 4", "sibling": "no slower",
		"home": "not used", "interleave": "memory of the process that touches it first, as Linux does",
		"window": "to be fitted", "occupy": "to be fitted",
	} {
		m.Sources[name] = "guess: " + why
	}
	return m.Validate()
}

// grid returns machines like m with values of two unmeasured parameters: a transfer's progress
// when the owner sees it, and the delay of the next request.
func grid(m *simulate.Machine) (all []*simulate.Machine) {
	near := slices.MinFunc(m.Transfer[1:], cmp.Compare[float64])
	for _, window := range []float64{0.1, 0.2, 0.3, 0.4, 0.55, 0.7, 0.85, 1} {
		for _, share := range []float64{0.05, 0.1, 0.2, 0.4, 0.8} {
			n := *m
			n.Window, n.Occupy = window, share*near
			all = append(all, &n)
		}
	}
	return all
}
