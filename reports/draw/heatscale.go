package draw

import (
	"math"
	"slices"
	"strconv"
)

// A HeatScale sorts figures into classes of one colour each.
type HeatScale struct {
	Bounds []float64 // ascending; class i is from bounds[i] to below bounds[i+1]
}

// heatSteps are the steps of a scale in decades, finest first. The first three are the
// preferred numbers R20, R10 and R5 of ISO 3, in two digits.
var heatSteps = []float64{0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100}

// NewHeatScale returns the finest scale of round bounds that covers the positive range lo
// to hi with at most one class per colour.
func NewHeatScale(lo, hi float64) (h HeatScale) {
	for _, step := range heatSteps {
		i := math.Floor(math.Log10(lo)/step) + 1
		for heatBound(i*step) > lo {
			i--
		}
		h.Bounds = []float64{heatBound(i * step)}
		for len(h.Bounds) < 2 || h.Bounds[len(h.Bounds)-1] <= hi {
			i++
			h.Bounds = append(h.Bounds, heatBound(i*step))
		}
		if h.Classes() <= len(Heat) {
			break
		}
	}
	return h
}

// heatBound returns 10 to the power of x in two digits.
func heatBound(x float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(math.Pow(10, x), 'g', 2, 64), 64)
	return v
}

func (h HeatScale) Classes() int { return len(h.Bounds) - 1 }

func (h HeatScale) Class(v float64) int {
	i, exact := slices.BinarySearch(h.Bounds, v)
	if !exact {
		i--
	}
	return max(0, min(i, h.Classes()-1))
}

// Colour returns the index in heat of a class; few classes have close colours.
func (h HeatScale) Colour(class int) int {
	n := h.Classes()
	if n == 1 {
		return 2
	}
	last := float64(len(Heat) - 1)
	step := math.Min(2, last/float64(n-1))
	return int(math.Round((last-step*float64(n-1))/2 + step*float64(class)))
}
