package judge

import (
	"slices"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/stat"
)

// A Price is a property that is worse in a lock than in the default, or a weakness of a distributed
// lock.
type Price struct {
	Kind PriceKind `json:"kind"`

	// Own and Default are the figures of both locks; nil for a trait, or without a default.
	Own     *Figure `json:"own"`
	Default *Figure `json:"default"`
}

// A PriceKind is a property of a lock.
type PriceKind string

const (
	Unfair  PriceKind = "unfair"       // Jain's fairness index, percent
	Waits   PriceKind = "longest wait" // longest time without an acquisition of some worker, ns
	Costs   PriceKind = "CPU"          // processor time of an acquisition, ns
	Polling PriceKind = "polls"        // waiters poll: while their holder may have lost its processor, or a server
	Handles PriceKind = "handles"      // each worker needs a handle
	Server  PriceKind = "one server"   // it alone grants the lock, and its loss was not tested
)

// The least differences that count as a price.
const (
	fairBelow = 90  // percent; a fairer lock has no price
	fairStep  = 5   // points of Jain's index
	dearer    = 1.1 // processor time, as a ratio
	longer    = 1.5 // longest wait, as a ratio
)

func (s Situation) prices(l, base candidate) (out []Price) {
	worse := func(kind PriceKind, m *result.Metric, of func([]float64) float64, is func(own, other float64) bool) {
		own, other := l.cell.Figures(m), base.cell.Figures(m)
		if len(own) == 0 || len(other) == 0 {
			return
		}
		if a, b := of(own), of(other); is(a, b) {
			out = append(out, Price{kind, &Figure{Value: a, N: int64(len(own))}, &Figure{Value: b, N: int64(len(other))}})
		}
	}
	if s.Workers > 1 {
		worse(Unfair, result.Jain, stat.Median, func(own, other float64) bool { return own < fairBelow && own < other-fairStep })
		worse(Waits, result.Unserved, slices.Max, func(own, other float64) bool { return own > longer*other })
	}
	worse(Costs, result.CPU, stat.Median, func(own, other float64) bool { return own > dearer*other })
	if l.Lock.Family == harness.Spin {
		out = append(out, Price{Kind: Polling})
	}
	if l.Lock.Traits.Handles {
		out = append(out, Price{Kind: Handles})
	}
	return out
}

// weaknesses returns the prices of l, a distributed lock, which has no default. It is unfair if the
// whole interval of Jain's index is low.
func (s Situation) weaknesses(l candidate) (out []Price) {
	if jain := figure(l.cell.Summary(result.Jain)); s.Workers > 1 && jain != nil && jain.Hi > 0 && jain.Hi < fairBelow {
		out = append(out, Price{Kind: Unfair, Own: jain})
	}
	if slices.ContainsFunc(l.cell.Results(), func(r *result.Result) bool { return r.Trips != nil && r.Trips.Behind != nil && r.Trips.Behind.Polls }) {
		out = append(out, Price{Kind: Polling})
	}
	if t := l.Lock.Traits; t.Needs == harness.KindRedis && t.Servers <= 1 && s.classOf(l).Strength == result.Unknown {
		out = append(out, Price{Kind: Server})
	}
	return out
}

// burden counts a trait twice: it holds on every machine, a figure may vary.
func burden(ps []Price) (n int) {
	for _, p := range ps {
		if n++; p.Own == nil {
			n++
		}
	}
	return n
}
