package lab

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/simulate"
	"locklab/internal/machine"
	"locklab/internal/stat"
)

// likeMachine is the machine of the program whose numbers stand for those not measured here.
const likeMachine = "broadwell-2x10"

// shapeOf returns likeMachine with the sockets, clusters, cores and threads of t. An irregular
// machine gets one cluster per socket, or one socket.
func shapeOf(t machine.Topology) (*simulate.Machine, error) {
	if len(t) < 2 {
		return nil, usage("--machine this needs two processors, this process may use %d", len(t))
	}
	count := func(part func(machine.Place) int) int {
		seen := make(map[int]bool)
		for _, p := range t {
			seen[part(p)] = true
		}
		return len(seen)
	}
	sockets := count(func(p machine.Place) int { return p.Package })
	caches := count(func(p machine.Place) int { return p.Cache })
	cores := count(func(p machine.Place) int { return p.Core })
	m, err := simulate.Named(likeMachine)
	if err != nil {
		return nil, err
	}
	m.Name, m.Doc = this, "the machine that it ran on: "+machine.Capture().String()
	for _, s := range [][4]int{
		{sockets, caches / sockets, cores / max(1, caches), len(t) / cores},
		{sockets, 1, cores / sockets, len(t) / cores},
		{1, 1, cores, len(t) / cores},
		{1, 1, len(t), 1},
	} {
		if m.Sockets, m.Clusters, m.Cores, m.SMT = s[0], s[1], s[2], s[3]; m.Threads() == len(t) {
			break
		}
	}
	return m, nil
}

var distances = map[machine.Relation]int{
	machine.SMTSiblings: 0, machine.SameCache: 1, machine.SameNode: 2, machine.SamePackage: 2,
	machine.OtherNode: 3, machine.OtherPackage: 3, machine.Unknown: 2,
}

// transfers returns the median one-way time of a word, in ns, by distance, from the table of
// the experiment core-to-core. A distance without a pair has the time of the next nearer one,
// or else of the next farther one.
func transfers(f *harness.Finding, t machine.Topology) (times [4]float64, err error) {
	var by [4][]float64
	if i := slices.IndexFunc(f.Tables, func(t harness.Table) bool { return t.Chart == harness.Heat }); i >= 0 {
		for a, row := range f.Tables[i].Rows {
			for b := a + 1; b < min(len(row.Cells), len(f.Tables[i].Columns)); b++ {
				x, e1 := strconv.Atoi(row.Label)
				y, e2 := strconv.Atoi(f.Tables[i].Columns[b].Name)
				if c := row.Cells[b]; e1 == nil && e2 == nil && c.N > 0 && c.Median > 0 {
					at := distances[t.Relation(x, y)]
					by[at] = append(by[at], c.Median)
				}
			}
		}
	}
	known := slices.IndexFunc(by[:], func(xs []float64) bool { return len(xs) > 0 })
	if known < 0 {
		return times, usage("core-to-core has no time between two processors that this program may use")
	}
	nearer := stat.Median(by[known])
	for i, xs := range by {
		if len(xs) > 0 {
			nearer = stat.Median(xs)
		}
		times[i] = nearer
	}
	return times, nil
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
	return 0, fmt.Errorf("lab: the experiment %s has no time of %q", f.Name, operation)
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
	return max(stat.Median(ns), 0.1)
}

// describe sets the times of m that were measured here, and the sources of its numbers.
func describe(m *simulate.Machine, t machine.Topology, hops, cost *harness.Finding) (err error) {
	for name := range m.Sources {
		m.Sources[name] = "guess: as " + likeMachine
	}
	for _, name := range []string{"sockets", "clusters", "cores", "smt"} {
		m.Sources[name] = "measured here: the system's list of processors"
	}
	if m.Transfer, err = transfers(hops, t); err != nil {
		return err
	}
	m.Sources["transfer"] = "measured here: the experiment core-to-core, medians; a distance without a pair is as the next nearer or farther one"
	for _, o := range []struct {
		name string
		time *float64
		of   string
	}{{"hit", &m.Hit, "load"}, {"store", &m.Store, "store-release"}, {"rmw", &m.RMW, "CAS that hits"}} {
		if *o.time, err = alone(cost, o.of); err != nil {
			return err
		}
		m.Sources[o.name] = fmt.Sprintf("measured here: the experiment cost, %q by one processor", o.of)
	}
	m.Pause = pauseTime()
	m.Sources["pause"] = "measured here: a loop of spin hints"
	for i, x := range m.Transfer {
		m.Shared[i], m.Upgrade[i] = 0.7*x, x
	}
	m.Shared[0] = m.Hit
	m.Sources["shared"], m.Sources["upgrade"] = "guess: 0.7 of transfer", "guess: as transfer"
	return m.Validate()
}
