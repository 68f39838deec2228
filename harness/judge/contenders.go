package judge

import (
	"fmt"
	"math"
	"slices"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/stat"
)

const (
	fitShare  = 10   // the law is fitted to points up to the most contenders divided by this
	fewest    = 4    // points that a fit needs
	preferred = 0.75 // a steeper law is taken if it multiplies the error by less than this
)

// Refuted is the greatest factor by which a law may miss a left-out point and still predict.
const Refuted = 1.5

// A PredictedPoint is a measurement with some number of contenders.
type PredictedPoint struct {
	Contenders int
	Rate       stat.Summary // handovers per second
	Wait       stat.Summary // median wait, ns
}

func (p PredictedPoint) period() float64 { return 1e9 / p.Rate.Median }

// A Law is the time per handover with n contenders: Fixed + Growing·(n−1)^Power, in ns.
type Law struct {
	Fixed, Growing float64 // not negative
	Power          int     // 1 if each waiter acts after a release, 2 if each also reads all waiters, 0 without growth
}

// At returns the time per handover with n contenders, in ns.
func (l Law) At(n float64) float64 { return l.Fixed + l.Growing*math.Pow(n-1, float64(l.Power)) }

// Contenders predicts one lock with more contenders than were measured. Its law is fitted
// to the points up to a tenth of the most contenders. The other points check the law.
type Contenders struct {
	Lock   harness.Lock
	Points []PredictedPoint // ascending
	Law    Law

	near    *Model
	fitted  []PredictedPoint
	refits  []Law   // each without one fitted point
	release float64 // the part of a contender's cycle that is not a wait, ns

	rateMiss, waitMiss float64 // greatest factors at the points that were left out
	worst              int     // contenders at rateMiss
}

// NewContenders fits a law to the lock of m, measured with these numbers of workers. If
// why is not empty, it is the reason that there is no law; the points are there anyway.
func NewContenders(m *Model, workers []int) (c *Contenders, why string) {
	c = &Contenders{Lock: m.Lock, near: m, rateMiss: 1, waitMiss: 1}
	for _, n := range slices.Compact(slices.Sorted(slices.Values(workers))) {
		rounds := m.Rounds(n)
		p := PredictedPoint{n, result.Handovers.Summary(rounds), result.P50.Summary(rounds)}
		if p.Rate.N > 0 && p.Rate.Median > 1e-6 && p.Rate.Median < 1e12 { // others are damage
			c.Points = append(c.Points, p)
		}
	}
	switch {
	case m.Trips == nil:
		return c, notCounted
	case m.Trips.Behind == nil:
		return c, several
	case m.Trips.Behind.Polls:
		return c, polls
	case len(c.Points) == 0:
		return c, "no handover was measured without a delay"
	}
	most := c.Points[len(c.Points)-1].Contenders
	for _, p := range c.Points {
		if p.Contenders*fitShare <= most && !m.idle(p.Contenders) {
			c.fitted = append(c.fitted, p)
		}
	}
	if len(c.fitted) < fewest {
		return c, fmt.Sprintf("has %d points with a queue up to a tenth of the most contenders (%d); %d are needed", len(c.fitted), most, fewest)
	}
	c.Law = fit(c.fitted)
	c.refits, _ = refit(c.fitted, c.Law.Power)
	c.release = c.outsideWait()
	for _, x := range c.LeftOut() {
		if by := factor(x.RateError()); by > c.rateMiss {
			c.rateMiss, c.worst = by, x.Point.Contenders
		}
		c.waitMiss = max(c.waitMiss, factor(x.WaitError()))
	}
	return c, ""
}

// Fitted returns the most contenders that the law is fitted to.
func (c *Contenders) Fitted() int {
	if len(c.fitted) == 0 {
		return 0
	}
	return c.fitted[len(c.fitted)-1].Contenders
}

func (c *Contenders) outsideWait() float64 {
	var rest []float64
	for _, p := range c.fitted {
		if p.Wait.N > 0 {
			rest = append(rest, float64(p.Contenders)*p.period()-p.Wait.Median)
		}
	}
	if len(rest) == 0 {
		return 0
	}
	return max(0, stat.Median(rest))
}

// fit returns the law nearest to points. A steeper law must predict each point from the
// others clearly better.
func fit(points []PredictedPoint) Law {
	best, _ := leastSquares(points, 0)
	_, least := refit(points, 0)
	for power := 1; power <= 2; power++ {
		l, ok := leastSquares(points, power)
		if _, e := refit(points, power); ok && e < preferred*least {
			best, least = l, e
		}
	}
	return best
}

// refit fits a law to all points but one, for each of them. It also returns the root mean
// square of the relative errors at the points left out, or +Inf if a fit fails.
func refit(points []PredictedPoint, power int) (laws []Law, e float64) {
	for i, p := range points {
		l, ok := leastSquares(slices.Concat(points[:i], points[i+1:]), power)
		if !ok {
			return laws, math.Inf(1)
		}
		laws = append(laws, l)
		e += math.Pow(l.At(float64(p.Contenders))/p.period()-1, 2)
	}
	return laws, math.Sqrt(e / float64(len(points)))
}

// leastSquares minimizes the relative errors. It returns false if the time would fall.
// fit.LinearLeastSquares of go-moremath has no bound at 0 and needs five archived modules.
func leastSquares(points []PredictedPoint, power int) (l Law, ok bool) {
	var w, x, xx, y, xy float64 // weighted sums
	for _, p := range points {
		t, grows := p.period(), math.Pow(float64(p.Contenders-1), float64(power))
		weight := 1 / (t * t)
		w, x, xx, y, xy = w+weight, x+weight*grows, xx+weight*grows*grows, y+weight*t, xy+weight*grows*t
	}
	if l.Power = power; power == 0 {
		l.Fixed = y / w
		return l, true
	}
	l.Growing = (w*xy - x*y) / (w*xx - x*x)
	if l.Fixed = (y - l.Growing*x) / w; l.Fixed < 0 {
		l.Fixed, l.Growing = 0, xy/xx
	}
	return l, l.Growing >= 0
}

// A Prediction is the rate and the wait of a lock with some number of contenders.
type Prediction struct {
	Rate PredictedTime // handovers per second, not ns
	Wait PredictedTime // median; zero if it is not predicted
}

// At predicts the lock with n contenders, at the measured round trip or, if trip is more
// than 0, at a round trip of trip ns. If why is not empty, it is the reason that there is
// no prediction. The ranges cover the laws without one fitted point, widened by the
// greatest factor at a point that was left out. The wait follows from Little's law, if the
// lock serves in order (Lazowska et al. 1984, chapter 3).
func (c *Contenders) At(n int, trip float64) (p Prediction, why string) {
	if c.rateMiss > Refuted {
		return p, fmt.Sprintf("refuted: off by a factor of %.2g with %d contenders", c.rateMiss, c.worst)
	}
	if p, why = c.by(c.Law, n, trip); why != "" {
		return p, why
	}
	for _, l := range c.refits {
		if q, why := c.by(l, n, trip); why == "" {
			p.Rate.widen(q.Rate.Value)
			p.Wait.widen(q.Wait.Value)
		}
	}
	p.Rate.Lo, p.Rate.Hi = p.Rate.Lo/c.rateMiss, p.Rate.Hi*c.rateMiss
	p.Wait.Lo, p.Wait.Hi = p.Wait.Lo/c.waitMiss, p.Wait.Hi*c.waitMiss
	if c.waitMiss > Refuted {
		p.Wait = PredictedTime{}
	}
	if !(p.Rate.Value > 1e-9 && p.Rate.Hi < 1e12 && p.Wait.Hi < 1e21) {
		return Prediction{}, contradict
	}
	return p, ""
}

func (t *PredictedTime) widen(v float64) { t.Lo, t.Hi = min(t.Lo, v), max(t.Hi, v) }

func (c *Contenders) by(l Law, n int, trip float64) (p Prediction, why string) {
	period, rest := l.At(float64(n)), c.release
	if trip > 0 {
		path, why := c.path()
		if why != "" {
			return p, why
		}
		rest += c.near.Trips.Behind.Unlock.RoundTrips() * (trip - path.from)
		period = path.among(stat.Summary{Median: period, Lo: period, Hi: period, N: 1}, trip).Value
	}
	p.Rate = PredictedTime{1e9 / period, 1e9 / period, 1e9 / period}
	if wait := max(0, float64(n)*period-rest); c.Lock.Traits.FIFO {
		p.Wait = PredictedTime{wait, wait, wait}
	}
	return p, ""
}

// path returns the path of a handover. If the lock was not measured alone, it is the path
// of bare round trips; with several ranks only some points have one.
func (c *Contenders) path() (path, string) {
	p, why := c.near.path(c.Fitted())
	if why != notAlone && why != noTrip {
		return p, why
	}
	var bare []float64
	for _, p := range c.fitted {
		if trip := c.near.trip(p.Contenders); trip > 0 {
			bare = append(bare, trip)
		}
	}
	if len(bare) == 0 {
		return p, noTrip
	}
	trip := stat.Median(bare)
	return path{c.near.Trips.Behind.Handover.RoundTrips(), stat.Summary{Median: trip, Lo: trip, Hi: trip, N: 1}, trip, trip}, ""
}

// A LeftOut is a measured point that the law was not fitted to, with its prediction.
type LeftOut struct {
	Point     PredictedPoint
	Predicted Prediction
}

// LeftOut returns the points with more contenders than the fitted ones.
func (c *Contenders) LeftOut() (out []LeftOut) {
	for _, p := range c.Points {
		if p.Contenders > c.Fitted() {
			predicted, _ := c.by(c.Law, p.Contenders, 0)
			out = append(out, LeftOut{p, predicted})
		}
	}
	return out
}

// RateError returns the predicted rate over the measured one, less 1.
func (x LeftOut) RateError() float64 { return x.Predicted.Rate.Value/x.Point.Rate.Median - 1 }

// WaitError returns the predicted wait over the measured one, less 1. It is NaN if one of
// them is missing.
func (x LeftOut) WaitError() float64 {
	if x.Point.Wait.N == 0 || !(x.Point.Wait.Median > 0) || x.Predicted.Wait.Value == 0 {
		return math.NaN()
	}
	return x.Predicted.Wait.Value/x.Point.Wait.Median - 1
}

func factor(e float64) float64 {
	if math.IsNaN(e) {
		return 1
	}
	return max(1+e, 1/(1+e))
}
