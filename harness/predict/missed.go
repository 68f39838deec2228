package predict

import (
	"fmt"
	"math"

	"locklab/harness/stat"
)

// A Figure is a quantity that a [Crowd] predicts and a run measures.
type Figure struct {
	Name string // for tables: "rate"

	measured func(p Point) stat.Summary
	computed func(e Estimate) float64 // 0 if it is not known
}

// The figures.
var (
	Rate       = &Figure{"rate", func(p Point) stat.Summary { return p.Rate }, func(e Estimate) float64 { return e.Rate.Value }}
	Wait       = &Figure{"wait", func(p Point) stat.Summary { return p.Wait }, func(e Estimate) float64 { return e.Wait.Value }}
	Messages   = &Figure{"messages", func(p Point) stat.Summary { return p.Message }, func(e Estimate) float64 { return e.Message }}
	ServerTime = &Figure{"server CPU", func(p Point) stat.Summary { return p.Server }, func(e Estimate) float64 { return e.Server }}
	ClientTime = &Figure{"client CPU", func(p Point) stat.Summary { return p.Client }, func(e Estimate) float64 { return e.Client }}
)

// Error returns the relative error of the prediction of f; false if it was not predicted
// or not measured.
func (m Missed) Error(f *Figure) (float64, bool) {
	computed, measured := f.computed(m.Predicted), f.measured(m.Point)
	ok := m.Why == "" && computed > 0 && measured.N > 0 && measured.Median > 0
	return computed/measured.Median - 1, ok
}

// WorstError returns the greatest error of f at a point that was left out; false without
// such a point.
func (c *Crowd) WorstError(f *Figure) (worst float64, ok bool) {
	_, at, _ := c.miss(f)
	for _, m := range c.LeftOut() {
		if e, known := m.Error(f); known && (m.Point.Contenders == at || !ok) {
			worst, ok = e, true
		}
	}
	return worst, ok
}

// Refuted reports whether no rate is extrapolated because the model misses a point left
// out by more than the factor [Refuted].
func (c *Crowd) Refuted() bool {
	by, _, ok := c.miss(Rate)
	return ok && by > Refuted
}

// miss returns the greatest error factor of f at a point that was left out, and its
// contenders. It is infinite if a lock continues when the model predicts a standstill. ok
// is false without such a point.
func (c *Crowd) miss(f *Figure) (factor float64, at int, ok bool) {
	factor = 1
	for _, m := range c.LeftOut() {
		if m.Why != "" && f == Rate && m.Point.Rate.N > 0 {
			return math.Inf(1), m.Point.Contenders, true
		}
		e, known := m.Error(f)
		if !known {
			continue
		}
		ok = true
		if by := math.Exp(math.Abs(math.Log(1 + e))); by > factor {
			factor, at = by, m.Point.Contenders
		}
	}
	return factor, at, ok
}

func (c *Crowd) refuted(f *Figure) string {
	by, at, ok := c.miss(f)
	switch {
	case !ok:
		return "no point that was left out tells how good the model is"
	case math.IsInf(by, 1):
		return fmt.Sprintf("refuted: with %d contenders it goes on, and by the model it stands still", at)
	case by > Refuted:
		return fmt.Sprintf("refuted: with %d contenders the model is off by a factor of %.2g", at, by) + c.processors(f, at)
	case c.own.unseen(f):
		return fmt.Sprintf("each message is about all contenders, by what they allocate, and times of up to %d contenders do not show what that costs", c.Fitted())
	}
	return ""
}

// processors reports that the lock got more or fewer processors at a missed point than in
// the calibration: other programs had them, which no model of the lock can predict.
func (c *Crowd) processors(f *Figure, at int) string {
	const much = 1.2
	for _, p := range c.Points {
		if p.Contenders != at || p.Got.N == 0 || c.own.got == 0 || f != Rate && f != Wait {
			continue
		}
		if by := c.own.got / p.Got.Median; max(by, 1/by) > much {
			return fmt.Sprintf("; servers and contenders got %.2g processors there, and %.2g in the calibration", p.Got.Median, c.own.got)
		}
	}
	return ""
}

func (f *Figure) validated(c *Crowd, e Estimate) float64 {
	if v := f.computed(e); c.refuted(f) == "" && v > 0 && v < 1e15 {
		return v
	}
	return 0
}
