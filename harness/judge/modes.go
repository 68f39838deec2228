package judge

import (
	"math"
	"slices"

	"locklab/internal/stat"
)

// A Mode is one of two groups into which the rates of the rounds fall.
type Mode struct {
	Rate   float64 `json:"rate"`   // the median of its rounds, in the unit of its column
	Rounds int     `json:"rounds"` // in it
}

// Two modes differ by half at least, have three rounds and a fifth of them each, and the gap between
// them is wider than each of them, on a logarithmic scale.
const (
	modeGap   = 1.5
	modeShare = 5 // one round in so many
)

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
	a, b := Mode{stat.Median(slow), len(slow)}, Mode{stat.Median(fast), len(fast)}
	if b.Rate/a.Rate < modeGap || widest <= slow[len(slow)-1]/slow[0] || widest <= fast[len(fast)-1]/fast[0] {
		return nil
	}
	return []Mode{a, b}
}
