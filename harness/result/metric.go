package result

import (
	"math"

	"locklab/harness"
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

	// Of returns the figure, and false if r does not contain enough for it. It does
	// not judge r: a caller drops results with violations first.
	Of func(r *harness.Result) (value float64, ok bool)

	// AtMost is set for times that the clock of r may not resolve. If Of has no figure for
	// that reason, AtMost returns an upper bound and true. See [Metric.Summary].
	AtMost func(r *harness.Result) (bound float64, ok bool)
}

// Summary summarizes m over rs, the rounds of one case. A round with only a bound counts as
// that bound: leaving it out would leave the slow rounds. If the median is no more than such a
// bound, AtMost of the summary is set, and the median must be shown as "at most".
func (m *Metric) Summary(rs []*harness.Result) stat.Summary {
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

// A Reading is the value of a metric in one result.
type Reading struct {
	Value float64
	Known bool // the result has a value
	Bound bool // it is at most Value
}

// Read returns the reading of m in r.
func (m *Metric) Read(r *harness.Result) Reading {
	if x, ok := m.Of(r); ok || m.AtMost == nil {
		return Reading{x, ok, false}
	}
	x, ok := m.AtMost(r)
	return Reading{x, ok, ok}
}

// The values of Metric.Better.
const (
	Higher = "higher"
	Lower  = "lower"
)

// Metrics lists every metric in the order of a benchmark line.
var Metrics = []*Metric{
	Time, Throughput,
	P50, P99, P999,
	Handovers, HandoverTime, HandoverMean, HandoverWaitP99, HandoverTransfers,
	RoundTrip, TurnRoundTrips, HandoverRoundTrips, P50RoundTrips, P99RoundTrips,
	Hold, HoldShare, HandoverShare, WaitShare,
	Jain, Starved, Unserved, WindowJain, BusyHalf, Spread, MinMax,
	RankJain, HostJain, RankLeast, HandoversWithin, HandoversRanks, HandoversHosts,
	StreakP50, StreakP99, LWSS, Reacquire, GapP50, GapP99, BypassP99, Bypass,
	CPU, Switches, Preemptions, Allocs,
	Requests, Notifications, ServerCPU, ServerMemory, Connections,
	Overlap,
	Offered, Goodput, Dropped, Backlog, Late,
}

// A reader is [Metric.Of].
type reader = func(r *harness.Result) (value float64, ok bool)

func metric(name, unit, doc, paper, better string, of reader) *Metric {
	return &Metric{Name: name, Unit: unit, Doc: doc, Paper: paper, Better: better, Of: of}
}

func (m *Metric) derive(name, unit, doc, paper, better string, of func(r *harness.Result, v float64) (float64, bool)) *Metric {
	from := func(source reader) reader {
		if source == nil {
			return nil
		}
		return func(r *harness.Result) (float64, bool) {
			if v, ok := source(r); ok {
				return of(r, v)
			}
			return 0, false
		}
	}
	d := metric(name, unit, doc, paper, better, from(m.Of))
	d.AtMost = from(m.AtMost)
	return d
}

func closed(m *Metric) *Metric {
	only := func(of reader) reader {
		return func(r *harness.Result) (float64, bool) {
			if r.Workload.Rate > 0 {
				return 0, false
			}
			return of(r)
		}
	}
	m.Of = only(m.Of)
	if m.AtMost != nil {
		m.AtMost = only(m.AtMost)
	}
	return m
}

func ratio(a, b float64) (float64, bool) {
	if !(b > 0) {
		return 0, false
	}
	return a / b, true
}
