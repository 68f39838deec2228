package verdict

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/internal/numfmt"
)

// A class of groups is what sets their situations apart beside the number of
// workers.
type class int

const (
	ordinary class = iota
	held           // for so long that a waiter could sleep meanwhile
	read           // most acquisitions only read
	deployed       // kept by servers that are durable, several, far away, or speak TLS
)

// From these hold times on a section is long: several times what it takes to put
// a waiter to sleep and to wake it, and several round trips to a server.
const (
	longHold       = 10 * time.Microsecond
	longHoldRemote = 10 * time.Millisecond
)

func (g *Group) class() class {
	long := longHold
	if g.Remote {
		long = longHoldRemote
	}
	switch {
	case g.deployment() != "":
		return deployed
	case g.Load.Reads >= mostlyReads:
		return read
	case g.Load.Hold.Mean >= long:
		return held
	}
	return ordinary
}

// deployment describes the servers of g where they are not the default, such as
// "3 durable servers 1ms away"; "" where they are.
func (g *Group) deployment() string {
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

// A Situation is a number of workers that stands for a degree of contention.
type Situation struct {
	g       *Group
	name    string
	workers int
	only    func(harness.Lock) bool // nil is every lock
	terse   bool                    // only the choice is wanted of a verdict, not what stands beside it
}

// The degrees of contention, and what they are in plain words: as a sentence,
// and behind the name of a lock.
const (
	uncontended    = "uncontended"
	fewWorkers     = "a few workers"
	upToCPUs       = "up to one worker per CPU"
	onePerCPU      = "one worker per CPU"
	oversubscribed = "more workers than CPUs"
	contended      = "contended"
	mostlyReaders  = "mostly readers"
	longHeld       = "long hold"
	distributed    = "distributed, "
)

var plainWords = map[string]struct {
	meaning string
	taken   string // the meaning if the CPUs were not the workers' alone; "" is the same
	when    string
}{
	uncontended:    {"one worker takes the lock", "", "without contention"},
	fewWorkers:     {"some CPUs have nothing to do", "", "with a few workers"},
	upToCPUs:       {"every worker has a CPU of its own", "no more workers than CPUs, of which others or a CPU limit took time in some windows", "with up to one worker per CPU"},
	onePerCPU:      {"every CPU has a worker, no worker waits for a CPU", "as many workers as CPUs, of which others or a CPU limit took time in some windows", "with one worker per CPU"},
	oversubscribed: {"workers wait for CPUs as well as for the lock", "", "with more workers than CPUs"},
	contended:      {"all want the lock at once", "", "when many want it"},
	mostlyReaders:  {"readers may share the lock", "", "when most acquisitions only read"},
	longHeld:       {"waiters have time to sleep", "", "when it is held long"},
}

// SituationOf returns what g is with w workers, by no name of its own.
func SituationOf(g *Group, w int) Situation { return Situation{g: g, workers: w} }

// situations returns those that g covers: an open loop grants what is asked for until the lock
// does not keep up, so its rate ranks nothing.
func situations(g *Group) (out []Situation) {
	if g.Open() {
		return nil
	}
	prefix := ""
	if g.Remote {
		prefix = distributed
	}
	most := g.Crowd()
	add := func(name string, w int) { out = append(out, Situation{g: g, name: prefix + name, workers: w}) }
	switch g.class() {
	case read:
		add(mostlyReaders, most)
		return out
	case held:
		prefix += longHeld + ", "
	case deployed:
		prefix += g.deployment() + ", "
	}
	if g.Workers[0] == 1 {
		add(uncontended, 1)
	}
	switch {
	case most < 2:
	case g.Remote || g.CPUs == 0:
		add(contended, most)
	default:
		few, full := g.upTo()
		if few > 0 {
			add(fewWorkers, few)
		}
		if full == g.CPUs {
			add(onePerCPU, full)
		} else if full > 0 {
			add(upToCPUs, full)
		}
		if most > g.CPUs {
			add(oversubscribed, most)
		}
	}
	return out
}

// upTo returns the least number of workers above one that leaves a processor
// idle, and the greatest other one that is not above the processors; 0 where
// there is none.
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

// Standing returns the situations of gs, the groups of a run, that stand for the degrees of contention
// in the table of verdicts, and those of its other workloads. The first are of
// the ordinary workload with the most cases; if there is one, a long hold,
// readers, and servers that are not the default come in only once each, at their most
// contended.
func Standing(gs []*Group) (first, others []Situation) {
	type slot struct {
		remote bool
		class  class
	}
	taken, has := make(map[slot]bool), make(map[slot]bool)
	for _, g := range gs {
		if g.Open() {
			continue
		}
		has[slot{g.Remote, g.class()}] = true
	}
	servers := farthest(gs)
	for _, g := range gs {
		s, all := slot{g.Remote, g.class()}, situations(g)
		switch {
		case taken[s] || len(all) == 0 || s.class == deployed && g != servers:
			others = append(others, all...)
		case (s.class == held || s.class == deployed) && has[slot{g.Remote, ordinary}]:
			first, others = append(first, all[len(all)-1]), append(others, all[:len(all)-1]...)
			taken[s] = true
		default:
			first = append(first, all...)
			taken[s] = true
		}
	}
	order := func(s Situation) int {
		n := int(s.g.class())
		if s.g.Remote {
			n += 10
		}
		return n
	}
	slices.SortStableFunc(first, func(a, b Situation) int { return order(a) - order(b) })
	return first, others
}

// farthest returns the group of gs whose servers differ from the default in the most
// ways, of several the first; nil if there is none.
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
		if g.class() == deployed && (best == nil || ways(g) > ways(best)) {
			best = g
		}
	}
	return best
}

// degree returns the last part of the name of s, which is a key of plainWords.
func (s Situation) degree() string {
	parts := strings.Split(s.name, ", ")
	return parts[len(parts)-1]
}

// meaning says in plain words what s is.
func (s Situation) meaning() string {
	text := plainWords[s.degree()].meaning
	if taken := plainWords[s.degree()].taken; s.g.Taken && taken != "" {
		text = taken
	}
	if s.g.class() == held && s.workers > 1 {
		text = plainWords[longHeld].meaning
	}
	if s.g.Remote {
		text = "between processes, kept by " + cmp.Or(s.g.deployment(), "a server") + ": " + text
	}
	return text
}

// on stands between a degree of contention and the servers it is about.
const on = " on "

// when says in plain words when s holds, behind the name of a lock.
func (s Situation) when() string {
	text := plainWords[s.degree()].when
	if s.g.class() == held && s.workers > 1 {
		text = plainWords[longHeld].when + " " + strings.TrimPrefix(text, "when ")
	}
	if servers := s.g.deployment(); servers != "" {
		text += on + servers
	}
	return text
}

// metric returns what s ranks by.
func (s Situation) metric() *metric.Metric {
	if s.g.Remote && s.workers > 1 && s.g.Load.Reads == 0 { // readers hand nothing over
		return metric.Handovers
	}
	return metric.Throughput
}

// rate formats what s ranks by.
func (s Situation) rate(v float64) string {
	if s.metric() == metric.Handovers {
		return numfmt.SI(v) + " hand-overs/s"
	}
	return numfmt.PerSecond(v)
}

// setting describes s with its figures.
func (s Situation) setting() string {
	text := numfmt.Plural(s.workers, "worker")
	if !s.g.Remote && s.g.CPUs > 0 && s.workers > 1 {
		text += " on " + s.g.Processors()
	}
	return text + ", " + s.g.Axes
}

// eligible reports whether a verdict may compare a lock with the given status,
// and name it as the lock to use if no lock of a better status is there.
func eligible(l harness.Lock) bool {
	// A lock with several permits lets in workers that others must keep out.
	return (l.Status == harness.Recommended || l.Status == harness.Reference) && l.Traits.Permits <= 1
}
