package judge

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
)

type Kind int

const (
	Ordinary Kind = iota
	Held          // long enough for a waiter to sleep meanwhile
	Read          // most acquisitions only read
	Deployed      // distributed, with servers that are durable, several, far away, or use TLS
)

// Hold times from which a critical section is long: several times the cost of putting a
// waiter to sleep and waking it, and several round trips to a server.
const (
	longHold       = 10 * time.Microsecond
	longHoldRemote = 10 * time.Millisecond
)

// Kind returns the kind of the workload of g.
func (g *Group) Kind() Kind {
	long := longHold
	if g.Remote {
		long = longHoldRemote
	}
	switch {
	case g.Deployment() != "":
		return Deployed
	case g.Load.Reads >= mostlyReads:
		return Read
	case g.Load.Hold.Mean >= long:
		return Held
	}
	return Ordinary
}

// Deployment describes the servers of g if they are not the default, or returns "".
func (g *Group) Deployment() string {
	w := g.Load
	if !g.Remote || w.Servers <= 1 && !w.Durable && !w.TLS && w.Delay == 0 {
		return ""
	}
	text := "server"
	if w.TLS {
		text = "TLS server"
	}
	if w.Durable {
		text = "durable " + text
	}
	if w.Servers > 1 {
		text = numfmt.Plural(w.Servers, text)
	}
	if w.Delay != 0 {
		text += " " + harness.Span{Mean: w.Delay}.String() + " away"
	}
	return text
}

// A Situation is a workload with a number of workers that stands for a degree of contention.
type Situation struct {
	group   *Group
	Degree  Degree
	Workers int
}

type Degree string

const (
	Uncontended    Degree = "uncontended"
	FewWorkers     Degree = "a few workers"
	UpToCPUs       Degree = "up to one worker per CPU"
	OnePerCPU      Degree = "one worker per CPU"
	Oversubscribed Degree = "more workers than CPUs"
	Contended      Degree = "contended"
)

func (s Situation) Group() *Group { return s.group }

// Distributed reports whether the locks of s are distributed.
func (s Situation) Distributed() bool { return s.group.Remote }

// Workload returns the workload of s without the workers, such as "hold=100ns".
func (s Situation) Workload() string { return s.group.Axes }

// Name identifies s among the situations of [MainSituations], such as "long hold, contended".
func (s Situation) Name() string {
	var parts []string
	if s.group.Remote {
		parts = append(parts, "distributed")
	}
	switch s.group.Kind() {
	case Read:
		return strings.Join(append(parts, "mostly readers"), ", ")
	case Held:
		parts = append(parts, "long hold")
	case Deployed:
		parts = append(parts, s.group.Deployment())
	}
	return strings.Join(append(parts, string(s.Degree)), ", ")
}

// MarshalJSON writes the name, the workload and the metric of s.
func (s Situation) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name        string `json:"name"`
		Distributed bool   `json:"distributed"`
		Workload    string `json:"workload"`
		Workers     int    `json:"workers"`
		Metric      string `json:"metric"`
	}{s.Name(), s.Distributed(), s.Workload(), s.Workers, s.Metric().Name})
}

// Metric returns the metric that compares the locks of s. For contended distributed locks
// it is handovers, because an owner that takes its lock back at once serves nobody else.
func (s Situation) Metric() *result.Metric {
	if s.group.metric == nil && s.group.Remote && s.Workers > 1 && s.group.Load.Reads == 0 { // readers hand nothing over
		return result.Handovers
	}
	return cmp.Or(s.group.metric, result.Throughput)
}

// Results returns the results of the competing locks of s.
func (s Situation) Results() (out []*result.Result) {
	for _, x := range s.group.At(s.Workers) {
		if c := x.Cells[s.Workers]; correct(x.Lock) {
			out = append(out, c.Results()...)
		}
	}
	return out
}

// Disturbs reports whether w, a warning about a result of s, is unusual there. The servers
// of a distributed lock are other processes too, and workers that fill the CPUs wait for
// them in any case.
func (s Situation) Disturbs(w machine.Warning) bool {
	switch {
	case s.group.Remote:
		return !slices.Contains([]string{"", "clipped", "others", "pressure"}, w.Kind)
	case s.Workers >= s.group.CPUs:
		return w.Kind != "pressure"
	}
	return true
}

// situations returns none for an open loop: its rate is the offered one until overload.
func situations(g *Group) (out []Situation) {
	if g.Open() {
		return nil
	}
	most := g.MostWorkers()
	add := func(d Degree, w int) { out = append(out, Situation{g, d, w}) }
	if g.Kind() == Read {
		add(Contended, most)
		return out
	}
	if g.Workers[0] == 1 {
		add(Uncontended, 1)
	}
	switch {
	case most < 2:
	case g.Remote || g.CPUs == 0:
		add(Contended, most)
	default:
		few, full := g.upTo()
		if few > 0 {
			add(FewWorkers, few)
		}
		if full == g.CPUs {
			add(OnePerCPU, full)
		} else if full > 0 {
			add(UpToCPUs, full)
		}
		if most > g.CPUs {
			add(Oversubscribed, most)
		}
	}
	return out
}

// upTo returns the least number of workers above one that leaves a processor idle, and the
// greatest other number up to the processors. Each is 0 without such a number.
func (g *Group) upTo() (few, full int) {
	for _, w := range g.Workers {
		switch {
		case w < 2 || w > g.CPUs:
		case few == 0 && w < g.CPUs:
			few = w
		default:
			full = w
		}
	}
	return few, full
}

// MainSituations returns the situations that stand for gs, the groups of a run: all of the
// ordinary workload with the most cases. For a long hold, for readers and for non-default
// servers it adds only the most contended situation, if there is one.
func MainSituations(gs []*Group) (out []Situation) {
	type slot struct {
		remote bool
		kind   Kind
	}
	taken, has := make(map[slot]bool), make(map[slot]bool)
	for _, g := range gs {
		if !g.Open() {
			has[slot{g.Remote, g.Kind()}] = true
		}
	}
	servers := farthest(gs)
	for _, g := range gs {
		at, all := slot{g.Remote, g.Kind()}, situations(g)
		if taken[at] || len(all) == 0 || at.kind == Deployed && g != servers {
			continue
		}
		taken[at] = true
		if (at.kind == Held || at.kind == Deployed) && has[slot{g.Remote, Ordinary}] {
			all = all[len(all)-1:]
		}
		out = append(out, all...)
	}
	slices.SortStableFunc(out, func(a, b Situation) int {
		return cmp.Or(last[a.group.Remote]-last[b.group.Remote], int(a.group.Kind()-b.group.Kind()))
	})
	return out
}

// Decisive returns the situation of the ranking for a kind of lock: the most contended one
// of the first workload of [MainSituations]. ok is false if gs have no lock of that kind.
func Decisive(gs []*Group, remote bool) (s Situation, ok bool) {
	for _, x := range MainSituations(gs) {
		if x.group.Remote == remote && (!ok || x.group == s.group && x.Workers > s.Workers) {
			s, ok = x, true
		}
	}
	return s, ok
}

// farthest returns the first group whose servers differ most from the default, or nil.
func farthest(gs []*Group) (best *Group) {
	ways := func(g *Group) (n int) {
		for _, off := range []bool{g.Load.Servers > 1, g.Load.Durable, g.Load.TLS, g.Load.Delay != 0} {
			if off {
				n++
			}
		}
		return n
	}
	for _, g := range gs {
		if g.Kind() == Deployed && (best == nil || ways(g) > ways(best)) {
			best = g
		}
	}
	return best
}
