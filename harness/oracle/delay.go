package oracle

import (
	"cmp"
	"slices"
	"time"

	"locklab/harness"
)

// A Delay is a time in which the machine kept a process, of a client or a server, from
// running, though nothing of the try had stopped it.
type Delay struct {
	Process  string
	From, To int64
}

// An Excuse is why a harm is not concluded: without the delays of Process it would not
// have taken so long.
type Excuse struct {
	Harm     harness.Harm
	From, To int64
	Waited   time.Duration // in that time
	Process  string        // the one that was kept from running for the longest
	Delayed  time.Duration // for how long
}

// Delays are those of a try, made ready to be asked again and again.
type Delays struct {
	processes []delayed
	excuse    []harness.Harm
}

// delayed is when one process was kept from running: times that are sorted and apart,
// and how long those before each took.
type delayed struct {
	name   string
	times  []pause
	before []int64
}

// NewDelays returns all, which may be in any order and overlap, as an excuse for harms of
// Stall, Stuck and Overtaken.
func NewDelays(all []Delay, harms ...harness.Harm) *Delays {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Delay) int { return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.From, b.From)) })
	d := &Delays{excuse: harms}
	for _, x := range all {
		if n := len(d.processes); n == 0 || d.processes[n-1].name != x.Process {
			d.processes = append(d.processes, delayed{name: x.Process})
		}
		d.processes[len(d.processes)-1].add(x.From, x.To)
	}
	return d
}

// add takes in the next time, by when it began.
func (p *delayed) add(from, to int64) {
	var sum int64
	if n := len(p.times); n > 0 {
		last := p.times[n-1]
		from, sum = max(from, last.to), p.before[n-1]+last.to-last.from
	}
	if from < to {
		p.times, p.before = append(p.times, pause{from, to}), append(p.before, sum)
	}
}

// until returns for how long the process was kept from running up to a moment.
func (p *delayed) until(at int64) int64 {
	i, _ := slices.BinarySearchFunc(p.times, at, func(t pause, at int64) int { return cmp.Compare(t.from, at) })
	if i == 0 {
		return 0
	}
	last := p.times[i-1]
	return p.before[i-1] + min(at, last.to) - last.from
}

// Between returns for how long the process that was kept from running for the longest
// between two moments was, and its name. What is done for a lock goes from one process
// to the next, so that it takes no more of that time than the slowest of them.
func (d *Delays) Between(from, to int64) (longest time.Duration, process string) {
	if d == nil {
		return 0, ""
	}
	for i := range d.processes {
		p := &d.processes[i]
		if sum := time.Duration(p.until(to) - p.until(from)); sum > longest {
			longest, process = sum, p.name
		}
	}
	return longest, process
}

// excused reports whether a harm is left out: of the time from one moment to another in
// which clients waited for so long, too little is left without the delays.
func (j *Judgement) excused(r *Rules, h harness.Harm, from, to int64, waited, most time.Duration) bool {
	x, ok := r.Delays.Excuse(h, from, to, waited-most)
	if ok {
		x.Waited = waited
		j.Excused = append(j.Excused, x)
	}
	return ok
}

// Excuse reports whether d excuses a harm that took from one moment to another: whether
// a process was kept from running for spare of that time.
func (d *Delays) Excuse(h harness.Harm, from, to int64, spare time.Duration) (Excuse, bool) {
	if d == nil || !slices.Contains(d.excuse, h) {
		return Excuse{}, false
	}
	lost, process := d.Between(from, to)
	return Excuse{h, from, to, time.Duration(to - from), process, lost}, lost >= spare
}
