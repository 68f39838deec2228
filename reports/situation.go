package reports

import (
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
	read           // most turns only read
)

// From these hold times on a section is long: several times what it takes to put
// a waiter to sleep and to wake it, and several round trips to a server.
const (
	longHold       = 10 * time.Microsecond
	longHoldRemote = 10 * time.Millisecond
)

func (g *group) class() class {
	long := longHold
	if g.remote {
		long = longHoldRemote
	}
	switch {
	case g.load.Reads >= mostlyReads:
		return read
	case g.load.Hold.Mean >= long:
		return held
	}
	return ordinary
}

// A situation is a number of workers that stands for a degree of contention.
type situation struct {
	g       *group
	name    string
	workers int
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

var plainWords = map[string]struct{ meaning, when string }{
	uncontended:    {"nobody else wants the lock", "when nobody else wants it"},
	fewWorkers:     {"some CPUs have nothing to do", "with a few workers"},
	upToCPUs:       {"every worker has a CPU of its own", "with up to one worker per CPU"},
	onePerCPU:      {"every CPU has a worker, no worker waits for a CPU", "with one worker per CPU"},
	oversubscribed: {"workers wait for CPUs as well as for the lock", "with more workers than CPUs"},
	contended:      {"all want the lock at once", "when many want it"},
	mostlyReaders:  {"readers may share the lock", "when most turns only read"},
	longHeld:       {"whoever waits has time to sleep", "when it is held long"},
}

// situations returns those that g covers.
func situations(g *group) (out []situation) {
	prefix := ""
	if g.remote {
		prefix = distributed
	}
	most := g.crowd()
	add := func(name string, w int) { out = append(out, situation{g, prefix + name, w}) }
	switch g.class() {
	case read:
		add(mostlyReaders, most)
		return out
	case held:
		prefix += longHeld + ", "
	}
	if g.workers[0] == 1 {
		add(uncontended, 1)
	}
	switch {
	case most < 2:
	case g.remote || g.cpus == 0:
		add(contended, most)
	default:
		few, full := g.upTo()
		if few > 0 {
			add(fewWorkers, few)
		}
		if full == g.cpus {
			add(onePerCPU, full)
		} else if full > 0 {
			add(upToCPUs, full)
		}
		if most > g.cpus {
			add(oversubscribed, most)
		}
	}
	return out
}

// upTo returns the least number of workers above one that leaves a processor
// idle, and the greatest other one that is not above the processors; 0 where
// there is none.
func (g *group) upTo() (few, full int) {
	for _, w := range g.workers {
		switch {
		case w < 2 || w > g.cpus:
		case few == 0 && w < g.cpus:
			few = w
		default:
			full = w
		}
	}
	return few, full
}

// standing returns the situations of gs, the groups of a run, that stand for the degrees of contention
// in the table of verdicts, and those of its other workloads. The first are of
// the ordinary workload with the most cases; if there is one, a long hold and
// readers come in only once each, at their most contended.
func standing(gs []*group) (first, others []situation) {
	type slot struct {
		remote bool
		class  class
	}
	taken, has := make(map[slot]bool), make(map[slot]bool)
	for _, g := range gs {
		has[slot{g.remote, g.class()}] = true
	}
	for _, g := range gs {
		s, all := slot{g.remote, g.class()}, situations(g)
		switch {
		case taken[s] || len(all) == 0:
			others = append(others, all...)
		case s.class == held && has[slot{g.remote, ordinary}]:
			first, others = append(first, all[len(all)-1]), append(others, all[:len(all)-1]...)
			taken[s] = true
		default:
			first = append(first, all...)
			taken[s] = true
		}
	}
	order := func(s situation) int {
		n := int(s.g.class())
		if s.g.remote {
			n += 10
		}
		return n
	}
	slices.SortStableFunc(first, func(a, b situation) int { return order(a) - order(b) })
	return first, others
}

// degree returns the last part of the name of s, which is a key of plainWords.
func (s situation) degree() string {
	parts := strings.Split(s.name, ", ")
	return parts[len(parts)-1]
}

// meaning says in plain words what s is.
func (s situation) meaning() string {
	text := plainWords[s.degree()].meaning
	if s.g.class() == held && s.workers > 1 {
		text = plainWords[longHeld].meaning
	}
	if s.g.remote {
		text = "between processes, kept by a server: " + text
	}
	return text
}

// when says in plain words when s holds, behind the name of a lock.
func (s situation) when() string {
	text := plainWords[s.degree()].when
	if s.g.class() == held && s.workers > 1 {
		text = plainWords[longHeld].when + " " + strings.TrimPrefix(text, "when ")
	}
	return text
}

// metric returns what s ranks by.
func (s situation) metric() *metric.Metric {
	if s.g.remote && s.workers > 1 && s.g.load.Reads == 0 { // readers hand nothing over
		return metric.Handovers
	}
	return metric.Throughput
}

// rate formats what s ranks by.
func (s situation) rate(v float64) string {
	if s.metric() == metric.Handovers {
		return numfmt.SI(v) + " hand-overs/s"
	}
	return numfmt.PerSecond(v)
}

// setting describes s with its figures.
func (s situation) setting() string {
	text := s.g.unit(s.workers)
	if !s.g.remote && s.g.cpus > 0 && s.workers > 1 {
		text += " on " + numfmt.Plural(s.g.cpus, "CPU")
	}
	return text + ", " + s.g.axes
}

// eligible reports whether a verdict may compare a lock with the given status,
// and name it as the lock to use if no lock of a better status is there.
func eligible(l harness.Lock) bool {
	// A lock with several permits lets in whom others must keep out.
	return (l.Status == harness.Recommended || l.Status == harness.Reference) && l.Traits.Permits <= 1
}
