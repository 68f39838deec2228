package predict

import (
	"cmp"
	"fmt"
	"math"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/stat"
)

// An Estimate is the prediction of a [Crowd] for some number of contenders. Its ranges
// cover the predictions without any one point of the calibration, widened by the factor
// by which it misses a point that was left out.
type Estimate struct {
	Contenders int

	Rate   Time   // handovers per second, not ns
	Wait   Time   // median, ns; the zero Time if NoWait has the reason
	NoWait string // in words

	// The costs of a handover, which grow with the contenders if the lock wakes a
	// herd. Each is 0 if unknown.
	Message float64 // requests and notifications from one handover to the next
	Server  float64 // processor time of the servers from one handover to the next, ns
	Client  float64 // the same for the contenders
}

// At predicts the lock among this many contenders, at the measured round trip, or, if
// trip is more than 0, at a bare round trip of trip ns. why is the reason if rate and
// wait are unknown. A figure is given only if the model is within the factor [Refuted] of
// every point left out that has it: so costs may be known without the rate.
func (c *Crowd) At(contenders int, trip float64) (e Estimate, why string) {
	none := Estimate{Contenders: contenders}
	e, unknown := c.at(contenders, trip)
	refuted := c.refuted(Rate)
	if unknown != "" {
		return none, cmp.Or(refuted, unknown)
	}
	for _, b := range c.Before(contenders) {
		if b.Limit.Hard {
			return none, cmp.Or(refuted, fmt.Sprintf("%s: reached with %.0f contenders; %s", b.Limit.Name, b.Contenders, b.Limit.Remedy))
		}
	}
	e.Message, e.Server, e.Client = Messages.validated(c, e), ServerTime.validated(c, e), ClientTime.validated(c, e)
	if refuted != "" {
		e.Rate, e.Wait, e.NoWait = Time{}, Time{}, ""
	} else if why := c.refuted(Wait); why != "" && e.NoWait == "" {
		e.Wait, e.NoWait = Time{}, why
	}
	return e, refuted
}

func (c *Crowd) at(contenders int, trip float64) (e Estimate, why string) {
	n := float64(contenders)
	e = Estimate{Contenders: contenders}
	if k := c.own; c.Polls() && math.IsInf(k.stretch(n), 1) {
		return e, fmt.Sprintf("waiters that ask again take all that can be served: with %.0f contenders, each %.2g times a second", math.Floor(1/(k.asks*k.busy)), k.asks)
	}
	period, wait, why := c.times(c.own, n, trip)
	if why != "" {
		return e, why
	}
	rates, waits := Time{1e9 / period, 1e9 / period, 1e9 / period}, Time{wait, wait, wait}
	for i := range c.fitted {
		k, ok := c.refit(c.own, without(c.fitted, i))
		if !ok {
			continue
		}
		if p, w, why := c.times(k, n, trip); why == "" && p > 0 {
			rates.widen(1e9 / p)
			waits.widen(w)
		}
	}
	f, _, _ := c.miss(Rate)
	rates.Lo, rates.Hi, waits.Lo, waits.Hi = rates.Lo/f, rates.Hi*f, waits.Lo/f, waits.Hi*f
	e.Rate, e.Wait = rates, waits
	c.tell(&e)
	if !(e.Rate.Value > 1e-9 && e.Rate.Hi < 1e12 && e.Wait.Hi < 1e21) {
		return e, "the figures contradict each other"
	}
	return e, ""
}

// tell adds the costs of a handover to e, and removes a wait that cannot be predicted.
func (c *Crowd) tell(e *Estimate) {
	if !c.Lock.Traits.FIFO {
		e.Wait, e.NoWait = Time{}, unordered
	}
	if n := float64(e.Contenders); !c.Polls() {
		e.Message, e.Server, e.Client = c.own.message.at(n), c.own.server.at(n), c.own.client.at(n)
	}
}

func (t *Time) widen(v float64) {
	if !math.IsInf(v, 0) && !math.IsNaN(v) {
		t.Lo, t.Hi = min(t.Lo, v), max(t.Hi, v)
	}
}

func (c *Crowd) times(k costs, n, trip float64) (period, wait float64, why string) {
	period, rest := c.period(k, n), k.release
	if trip > 0 {
		path, why := c.path()
		if why != "" {
			return 0, 0, why
		}
		rest += c.near.Trips.Behind.Unlock.RoundTrips() * (trip - path.from)
		period = path.among(stat.Summary{Median: period, Lo: period, Hi: period, N: 1}, trip).Value
	}
	return period, max(0, n*period-rest), ""
}

// path returns the path of a handover in the crowd; if the lock was not measured alone,
// by bare round trips. With several ranks these are not always known.
func (c *Crowd) path() (path, string) {
	last := c.fitted[len(c.fitted)-1].Contenders
	p, why := c.near.path(last)
	if why != notAlone && why != noTrip {
		return p, why
	}
	bare := middle(c.fitted, func(p Point) stat.Summary { return metric.RoundTrip.Summary(c.near.rounds(p.Contenders)) })
	if bare == 0 {
		return p, noTrip
	}
	each := stat.Summary{Median: bare, Lo: bare, Hi: bare, N: 1}
	return path{trips: c.near.Trips.Behind.Handover.RoundTrips(), each: each, alone: bare, from: bare}, ""
}

// A Missed is a point outside the calibration, next to its prediction.
type Missed struct {
	Point     Point
	Predicted Estimate
	Why       string // reason for a missing prediction, or ""

	Trip float64 // the bare round trip around it, ns; 0 for the calibration's
}

// LeftOut returns the points with more contenders than the calibration, each with its
// prediction.
func (c *Crowd) LeftOut() (out []Missed) {
	for _, p := range c.Points {
		if p.Contenders > c.Fitted() {
			period, wait, why := 0.0, 0.0, ""
			if math.IsInf(c.own.stretch(float64(p.Contenders)), 1) {
				why = "waiters that ask again take all that can be served"
			} else {
				period, wait, why = c.times(c.own, float64(p.Contenders), 0)
			}
			e := Estimate{Contenders: p.Contenders, Rate: Time{Value: 1e9 / period}, Wait: Time{Value: wait}}
			c.tell(&e)
			out = append(out, Missed{Point: p, Predicted: e, Why: why})
		}
	}
	return out
}

// Far compares the prediction for this many contenders farther away with rounds of the
// same workload. It uses the bare round trip measured around these rounds, not the
// requested delay.
func (c *Crowd) Far(contenders int, far []*harness.Result) Missed {
	trip := metric.RoundTrip.Summary(far)
	m := Missed{Point: c.near.point(contenders, far), Trip: trip.Median}
	if trip.N == 0 {
		m.Trip, m.Why = 0, noTrip
		return m
	}
	m.Predicted, m.Why = c.at(contenders, trip.Median)
	return m
}

func (c *Crowd) Fitted() int {
	if len(c.fitted) == 0 {
		return 0
	}
	return c.fitted[len(c.fitted)-1].Contenders
}

// A Cost is a term of the work from one handover to the next.
type Cost struct {
	Name                   string
	Period, Server, Client float64 // ns
	Message                float64
}

// Costs returns the terms of the calibration, without zero terms.
func (c *Crowd) Costs() (out []Cost) {
	for _, t := range []term{constant, perWaiter, perPair, shared} {
		if t.name == constant.name && c.Polls() {
			out = append(out, Cost{Name: t.name, Period: c.own.acquisition})
			continue
		}
		x := Cost{t.name, c.own.periodOf(t), c.own.server.of(t), c.own.client.of(t), c.own.message.of(t)}
		if x != (Cost{Name: t.name}) {
			out = append(out, x)
		}
	}
	return out
}

func (l law) of(t term) float64 {
	for j, own := range l.terms {
		if own.name == t.name {
			return l.c[j]
		}
	}
	return 0
}

// Herd reports whether the requests and notifications of a handover grow with the
// contenders.
func (c *Crowd) Herd() bool { return c.own.herd }

// Grows reports whether the time of a handover grows with the contenders.
func (c *Crowd) Grows() bool {
	return c.own.period.grows() && c.own.got == 0 || c.own.server.grows() || c.own.client.grows()
}

// Polls reports whether waiters ask again after a pause.
func (c *Crowd) Polls() bool {
	return c.near.Trips != nil && c.near.Trips.Behind != nil && c.near.Trips.Behind.Polls
}
