package reports

import (
	"cmp"
	"slices"

	"locklab/harness/result"

	"locklab/harness/judge"
)

// A match is the groups of one workload, of local or of distributed locks, that more than
// one machine measured.
type match struct {
	remote   bool
	axes     string
	machines []Machine
	looks    []look
	groups   []*group // by machine
	cpus     int      // of every machine, 0 if they differ

	shared []int // by machine: cases of the whole run that the first machine also has
}

// matches returns the common workloads of the machines, local locks first, then in the
// order of the machines.
func matches(ms []Machine) (out []*match) {
	type key struct {
		remote bool
		axes   string
	}
	index := make(map[key]*match)
	for i, m := range ms {
		for _, g := range groups(m.Run) {
			if g.Open() {
				continue
			}
			k := key{g.Remote, g.Axes}
			x := index[k]
			if x == nil {
				x = &match{remote: g.Remote, axes: g.Axes, cpus: g.CPUs}
				index[k] = x
				out = append(out, x)
			}
			l := columnLook(i)
			l.name = m.Name
			x.machines, x.looks, x.groups = append(x.machines, m), append(x.looks, l), append(x.groups, g)
			if g.CPUs != x.cpus {
				x.cpus = 0
			}
		}
	}
	out = slices.DeleteFunc(out, func(x *match) bool { return len(x.groups) < 2 })
	for _, x := range out {
		for _, m := range x.machines {
			x.shared = append(x.shared, sharedCases(x.machines[0].Run, m.Run))
		}
	}
	slices.SortStableFunc(out, func(a, b *match) int {
		if a.remote != b.remote {
			return map[bool]int{false: -1, true: 1}[a.remote]
		}
		return 0
	})
	return out
}

// sharedCases returns the number of comparable cases of two runs. All their intervals hold
// together. "locklab compare" counts the same way.
func sharedCases(a, b *result.Run) (n int) {
	type key struct{ lock, workload string }
	has := func(run *result.Run) map[key]bool {
		out := make(map[key]bool)
		broken := judge.Violations(run)
		for _, r := range run.Results {
			if _, ok := result.Throughput.Of(r); ok && broken[r.Lock.Name] == nil {
				out[key{r.Lock.Name, r.Workload.Name()}] = true
			}
		}
		return out
	}
	other := has(b)
	for k := range has(a) {
		if other[k] {
			n++
		}
	}
	return n
}

// cell returns the rounds of a lock on machine i with w workers, or nil.
func (x *match) cell(i int, lock string, w int) *cell {
	for _, s := range x.groups[i].series {
		if s.Lock.Name == lock {
			return s.Cells[w]
		}
	}
	return nil
}

// locks returns a series of each lock that at least two machines measured.
func (x *match) locks() (out []*series) {
	seen := make(map[string]int)
	for _, g := range x.groups {
		for _, s := range g.series {
			if seen[s.Lock.Name]++; seen[s.Lock.Name] == 2 {
				out = append(out, s)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *series) int { return a.look.compare(b.look) })
	return out
}

func (x *match) workers() (ws []int) {
	for _, g := range x.groups {
		ws = append(ws, g.Workers...)
	}
	slices.Sort(ws)
	return slices.Compact(ws)
}

// cases counts the cases of all groups of x.
func (x *match) cases() (n int) {
	for _, g := range x.groups {
		n += g.Cases
	}
	return n
}

// largestMatch returns the index of the match of one kind with the most cases, or -1.
func largestMatch(xs []*match, remote bool) int {
	best := -1
	for i, x := range xs {
		if x.remote == remote && (best < 0 || cmp.Compare(x.cases(), xs[best].cases()) > 0) {
			best = i
		}
	}
	return best
}

// fairness returns the metric of Jain's index for x, as for a group.
func (x *match) fairness() *result.Metric {
	for _, g := range x.groups {
		if m := g.fairness(); m == result.Jain {
			return m
		}
	}
	return result.WindowJain
}

// source returns the source of a picture of x that draws m.
func (x *match) source(m *result.Metric) source {
	s := source{metrics: []*result.Metric{m}}
	for _, g := range x.groups {
		s.rounds = append(s.rounds, roundsOf(g))
	}
	return s
}
