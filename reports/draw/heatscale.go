package draw

import (
	"math"
	"slices"
)

// A HeatScale sorts figures into classes of one colour each.
type HeatScale struct {
	Bounds []float64 // ascending; class i is from bounds[i] to below bounds[i+1]
}

// The steps of a scale in a decade, finest first: the preferred numbers R20, R10 and R5 of
// ISO 3, then rounder ones.
var heatSteps = [][]float64{
	{1, 1.12, 1.25, 1.4, 1.6, 1.8, 2, 2.24, 2.5, 2.8, 3.15, 3.55, 4, 4.5, 5, 5.6, 6.3, 7.1, 8, 9},
	{1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8},
	{1, 1.6, 2.5, 4, 6.3},
	{1, 2, 5},
	{1, 3},
	{1},
}

// NewHeatScale returns the finest scale of round bounds that covers the positive range lo
// to hi with at most one class per colour.
func NewHeatScale(lo, hi float64) HeatScale {
	from, to := math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi))
	for _, steps := range heatSteps {
		var all []float64
		for d := from; d <= to && len(all) < 200; d++ {
			for _, s := range steps {
				all = append(all, s*math.Pow(10, d))
			}
		}
		if b := enclose(append(all, math.Pow(10, to+1)), lo, hi); b != nil {
			return HeatScale{b}
		}
	}
	every := math.Ceil((to - from + 1) / float64(len(Heat)))
	var all []float64
	for d := from; d < to+2*every; d += every {
		all = append(all, math.Pow(10, d))
	}
	return HeatScale{enclose(all, lo, hi)}
}

// enclose returns the part of bounds that covers lo to hi, or nil with too many classes.
func enclose(bounds []float64, lo, hi float64) []float64 {
	first, last := 0, len(bounds)-1
	for first+1 < last && bounds[first+1] <= lo {
		first++
	}
	for last-1 > first && bounds[last-1] > hi {
		last--
	}
	if last-first > len(Heat) {
		return nil
	}
	return slices.Clone(bounds[first : last+1])
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
