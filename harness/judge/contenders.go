package judge

import (
	"fmt"
	"math"
	"slices"

	"locklab/harness/result"
	"locklab/internal/stat"
)

const (
	fitShare  = 10   // the law is fitted to points up to the most contenders divided by this
	fewest    = 4    // points that a fit needs
	preferred = 0.75 // a steeper law is taken if it multiplies the error by less than this
	mostMiss  = 1.5  // a law that misses a point left out by a greater factor is refuted
)

// A PredictedPoint is a measurement with some number of contenders.
type PredictedPoint struct {
	Contenders int
	Rate       stat.Summary // handovers per second
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
	Points []PredictedPoint // ascending
	Law    Law
	Fitted int // the most contenders that the law is fitted to; 0 without a law
}

// NewContenders fits a law to the lock of m, measured with these numbers of workers. If
// why is not empty, it is the reason that there is no law; the points are there anyway.
func NewContenders(m *Model, workers []int) (c *Contenders, why string) {
	c = new(Contenders)
	for _, n := range slices.Compact(slices.Sorted(slices.Values(workers))) {
		p := PredictedPoint{n, result.Handovers.Summary(m.Rounds(n))}
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
	fitted := slices.DeleteFunc(slices.Clone(c.Points), func(p PredictedPoint) bool {
		return p.Contenders*fitShare > most || m.queueSometimesEmpty(p.Contenders)
	})
	if len(fitted) < fewest {
		return c, fmt.Sprintf("has %d points with a queue up to a tenth of the most contenders (%d); %d are needed", len(fitted), most, fewest)
	}
	c.Law, c.Fitted = fit(fitted), fitted[len(fitted)-1].Contenders
	return c, ""
}

// fit returns the law nearest to points. A steeper law must predict each point from the
// others clearly better.
func fit(points []PredictedPoint) Law {
	best, _ := leastSquares(points, 0)
	least := refitError(points, 0)
	for power := 1; power <= 2; power++ {
		l, ok := leastSquares(points, power)
		if e := refitError(points, power); ok && e < preferred*least {
			best, least = l, e
		}
	}
	return best
}

// refitError fits a law to all points but one, for each of them. It returns the root mean
// square of the relative errors at the points left out, or +Inf if a fit fails.
func refitError(points []PredictedPoint, power int) (e float64) {
	for i, p := range points {
		l, ok := leastSquares(slices.Concat(points[:i], points[i+1:]), power)
		if !ok {
			return math.Inf(1)
		}
		e += math.Pow(l.At(float64(p.Contenders))/p.period()-1, 2)
	}
	return math.Sqrt(e / float64(len(points)))
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

// Rate returns the handovers per second with n contenders by the law.
func (c *Contenders) Rate(n int) float64 { return 1e9 / c.Law.At(float64(n)) }

// Refuted returns the reason not to predict by the law, or "".
func (c *Contenders) Refuted() string {
	for _, p := range c.LeftOut() {
		if e := 1 + c.Error(p); max(e, 1/e) > mostMiss {
			return fmt.Sprintf("refuted: off by a factor of %.2g with %d contenders", max(e, 1/e), p.Contenders)
		}
	}
	return ""
}

// LeftOut returns the points with more contenders than the fitted ones.
func (c *Contenders) LeftOut() []PredictedPoint {
	return slices.DeleteFunc(slices.Clone(c.Points), func(p PredictedPoint) bool { return p.Contenders <= c.Fitted })
}

// Error returns the predicted rate over the measured one, less 1.
func (c *Contenders) Error(p PredictedPoint) float64 { return c.Rate(p.Contenders)/p.Rate.Median - 1 }
