package judge

import (
	"math"
	"slices"

	"locklab/harness/result"
	"locklab/internal/stat"
)

// A Mode is one of two groups into which the rates of the rounds fall.
type Mode struct {
	Rate   float64 `json:"rate"`   // the median of its rounds, in the unit of its column
	Rounds int     `json:"rounds"` // in it
	Kept   float64 `json:"kept"`   // share of their acquisitions by the last owner, 0 to 1
}

// Two modes differ by half at least, have three rounds and a fifth of them each, and the gap between
// them is wider than each of them, on a logarithmic scale.
const (
	modeGap   = 1.5
	modeShare = 5 // one round in so many
)

// modes returns the two groups of the rounds of c by the rate m; nil if they do not fall into two.
func (c *Cell) modes(m *result.Metric) []Mode {
	ms := modes(c.Figures(m))
	if ms == nil {
		return nil
	}
	var handovers, ops [2]float64
	for _, r := range c.Results() {
		if rate, ok := m.Of(r); ok && rate > 0 {
			i := 0
			if rate/ms[0].Rate > ms[1].Rate/rate { // nearer to the faster group
				i = 1
			}
			handovers[i], ops[i] = handovers[i]+float64(r.Handovers), ops[i]+float64(r.Ops)
		}
	}
	for i := range ms {
		ms[i].Kept = max(0, 1-handovers[i]/max(1, ops[i]))
	}
	return ms
}

// modes returns the two groups of rates, the slower first; nil if they do not fall into two.
// Rates of one mode with a heavy tail have no second group as narrow as the gap.
func modes(rates []float64) []Mode {
	rates = slices.DeleteFunc(slices.Clone(rates), func(x float64) bool { return !(x > 0) || math.IsInf(x, 1) })
	slices.Sort(rates)
	least := max(3, len(rates)/modeShare)
	at, widest := 0, 0.0
	for i := least; i <= len(rates)-least; i++ {
		if gap := rates[i] / rates[i-1]; gap > widest {
			at, widest = i, gap
		}
	}
	if at == 0 {
		return nil
	}
	slow, fast := rates[:at], rates[at:]
	a, b := Mode{Rate: stat.Median(slow), Rounds: len(slow)}, Mode{Rate: stat.Median(fast), Rounds: len(fast)}
	if b.Rate/a.Rate < modeGap || widest <= slow[len(slow)-1]/slow[0] || widest <= fast[len(fast)-1]/fast[0] {
		return nil
	}
	return []Mode{a, b}
}
