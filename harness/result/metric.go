package result

import (
	"math"

	"locklab/internal/stat"
)

// A Metric is one figure of a result.
type Metric struct {
	// Name identifies the metric in tables: lower case, words joined by '-'.
	Name string

	// Unit is the unit in benchmark lines, one word; "ns" in it makes benchstat show seconds.
	Unit string

	// Doc describes the figure in one line, without a capital or a full stop.
	Doc string

	// Paper is the source of the definition in short form.
	Paper string

	// Better is the better direction: "higher", "lower", or "" if neither.
	Better string

	// Read returns the figure. It is not known if r does not contain enough for it, and a
	// bound if the clock of r does not resolve a time: see [Metric.Summary]. Read does not
	// judge r: a caller drops results with violations first.
	Read func(r *Result) Reading
}

// A Reading is the value of a metric in one result.
type Reading struct {
	Value float64
	Known bool // the result has a value
	Bound bool // it is at most Value
}

// Of returns the figure, and false without one or with only a bound.
func (m *Metric) Of(r *Result) (value float64, ok bool) {
	x := m.Read(r)
	return x.Value, x.Known && !x.Bound
}

// Summary summarizes m over rs, the rounds of one case. A round with only a bound counts as
// that bound: leaving it out would leave the slow rounds. If the median is no more than such a
// bound, AtMost of the summary is set, and the median must be shown as "at most".
func (m *Metric) Summary(rs []*Result) stat.Summary {
	var xs []float64
	bound := math.Inf(-1)
	for _, r := range rs {
		x := m.Read(r)
		if x.Known {
			xs = append(xs, x.Value)
		}
		if x.Bound {
			bound = max(bound, x.Value)
		}
	}
	s := stat.Summarize(xs)
	s.AtMost = s.Median <= bound
	return s
}

// The values of Metric.Better.
const (
	Higher = "higher"
	Lower  = "lower"
)

// Metrics lists every metric in the order of a benchmark line.
var Metrics = []*Metric{
	Time, Throughput,
	P50, P99, P999, MomentP99,
	Handovers, HandoverTime, HandoverMean, HandoverWaitP99, HandoverTransfers,
	RoundTrip, PeriodRoundTrips, HandoverRoundTrips, P50RoundTrips, P99RoundTrips,
	Hold, HoldShare, HandoverShare, WaitShare,
	Jain, Starved, Unserved, WindowJain, BusyHalf, Spread, MinMax,
	RankJain, HostJain, RankLeast, HandoversWithin, HandoversRanks, HandoversHosts,
	StreakP50, StreakP99, LWSS, Reacquire, GapP50, GapP99, BypassP99, Bypass,
	CPU, Switches, Preemptions, Allocs,
	Requests, Notifications, ServerCPU, ServerMemory, Connections,
	Overlap,
	Offered, Goodput, Dropped, Backlog, Late,
}

// A reader returns a figure of r, and false without one.
type reader func(r *Result) (value float64, ok bool)

func metric(name, unit, doc, paper, better string, of reader) *Metric {
	return &Metric{Name: name, Unit: unit, Doc: doc, Paper: paper, Better: better, Read: func(r *Result) Reading {
		v, ok := of(r)
		return Reading{Value: v, Known: ok}
	}}
}

// derive returns a metric of the figures of m, bounds included.
func (m *Metric) derive(name, unit, doc, paper, better string, of func(r *Result, v float64) (float64, bool)) *Metric {
	read := m.Read
	return &Metric{Name: name, Unit: unit, Doc: doc, Paper: paper, Better: better, Read: func(r *Result) Reading {
		x := read(r)
		if !x.Known {
			return x
		}
		v, ok := of(r, x.Value)
		return Reading{Value: v, Known: ok, Bound: ok && x.Bound}
	}}
}

// closed removes the figures of open loops from m.
func closed(m *Metric) *Metric {
	read := m.Read
	m.Read = func(r *Result) Reading {
		if r.Workload.Rate > 0 {
			return Reading{}
		}
		return read(r)
	}
	return m
}

func ratio(a, b float64) (float64, bool) {
	if !(b > 0) {
		return 0, false
	}
	return a / b, true
}
