package chart

import (
	"slices"
	"strings"

	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// A Match is the groups of one workload and kind that several machines measured.
type Match struct {
	Remote   bool
	Axes     string
	machines []Machine
	styles   []draw.Style
	groups   []*Group // by machine
	cpus     int      // of every machine, 0 if they differ
}

// Matches returns the common workloads of the machines, local locks first, in their order.
func Matches(ms []Machine) (out []*Match) {
	type key struct {
		remote bool
		axes   string
	}
	index := make(map[key]*Match)
	for i, m := range ms {
		for _, g := range Groups(m.Run) {
			if g.Open() {
				continue
			}
			k := key{g.Remote, g.Axes}
			x := index[k]
			if x == nil {
				x = &Match{Remote: g.Remote, Axes: g.Axes, cpus: g.CPUs}
				index[k] = x
				out = append(out, x)
			}
			l := ColumnStyle(i)
			l.Name = m.Name
			x.machines, x.styles, x.groups = append(x.machines, m), append(x.styles, l), append(x.groups, g)
			if g.CPUs != x.cpus {
				x.cpus = 0
			}
		}
	}
	out = slices.DeleteFunc(out, func(x *Match) bool { return len(x.groups) < 2 })
	slices.SortStableFunc(out, func(a, b *Match) int {
		return map[bool]int{true: 1}[a.Remote] - map[bool]int{true: 1}[b.Remote]
	})
	return out
}

func (x *Match) locks() (out []*series) {
	seen := make(map[string]int)
	for _, g := range x.groups {
		for _, s := range g.Locks {
			if seen[s.Lock.Name]++; seen[s.Lock.Name] == 2 {
				out = append(out, s)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *series) int { return a.style.Compare(b.style) })
	return out
}

func (x *Match) Workers() (ws []int) {
	for _, g := range x.groups {
		ws = append(ws, g.Workers...)
	}
	slices.Sort(ws)
	return slices.Compact(ws)
}

// LargestMatch returns the index of the match of one kind with the most cases, or -1.
func LargestMatch(xs []*Match, remote bool) int {
	best, most := -1, -1
	for i, x := range xs {
		n := 0
		for _, g := range x.groups {
			n += g.Cases
		}
		if x.Remote == remote && n > most {
			best, most = i, n
		}
	}
	return best
}

func (x *Match) fairness() *result.Metric {
	for _, g := range x.groups {
		if m := g.fairness(); m == result.Jain {
			return m
		}
	}
	return result.WindowJain
}

func (x *Match) source(m *result.Metric) Source {
	s := Source{Metrics: []*result.Metric{m}}
	for _, g := range x.groups {
		s.Rounds = append(s.Rounds, roundsOf(g))
	}
	return s
}

// A Machine is a run in a report of several.
type Machine struct {
	Name   string // unique
	Folder string // source of the run
	Run    *result.Run
}

// Hardware names the machine: "AMD EPYC 7B13, 2 CPUs (1 core), guest of kvm".
func Hardware(e machine.Environment) string {
	var parts []string
	if e.CPU != "" {
		parts = append(parts, e.CPU)
	} else if e.Arch != "" {
		parts = append(parts, e.Arch)
	}
	if e.CPUs > 0 {
		text := numfmt.Plural(e.CPUs, "CPU")
		if e.Cores > 0 && e.Cores != e.CPUs {
			text += " (" + numfmt.Plural(e.Cores, "core") + ")"
		}
		parts = append(parts, text)
	}
	if e.Sockets > 1 {
		parts = append(parts, numfmt.Plural(e.Sockets, "socket"))
	}
	if e.Virtual != "" {
		parts = append(parts, "guest of "+e.Virtual)
	}
	return strings.Join(parts, ", ")
}
