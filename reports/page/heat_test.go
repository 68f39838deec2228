package page

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"locklab/harness/result"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

// TestHeatScale: round bounds enclose all figures, with a colour per class and none empty.
func TestHeatScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	ranges := [][2]float64{{50, 50}, {1, 1}, {1, 10}, {10, 10}, {1, 1e9}, {1, 1e8}, {24, 27}, {20, 250}, {1e-289, 1e289}, {9.99, 10}}
	for range 3000 {
		lo := math.Pow(10, 20*rng.Float64()-10)
		ranges = append(ranges, [2]float64{lo, lo * math.Pow(10, 12*rng.Float64()*rng.Float64())})
	}
	for _, r := range ranges {
		h := draw.NewHeatScale(r[0], r[1])
		n := h.Classes()
		if n < 1 || n > len(draw.Heat) || !slices.IsSorted(h.Bounds) || h.Bounds[0] > r[0] || h.Bounds[n] <= r[1] && r[1] < 1e289 {
			t.Errorf("%v: bounds %v", r, h.Bounds)
		}
		if h.Class(r[0]) != 0 || h.Class(r[1]) != n-1 {
			t.Errorf("%v: the ends are in the classes %d and %d of %d", r, h.Class(r[0]), h.Class(r[1]), n)
		}
		colours := make([]int, n)
		for i := range colours {
			colours[i] = h.Colour(i)
			if v := math.Sqrt(h.Bounds[i]) * math.Sqrt(h.Bounds[i+1]); h.Class(v) != i || h.Class(h.Bounds[i]) != i {
				t.Errorf("%v: %v is in class %d, its bound in %d, want %d", r, v, h.Class(v), h.Class(h.Bounds[i]), i)
			}
		}
		if c := slices.Compact(slices.Clone(colours)); len(c) != n || !slices.IsSorted(c) || c[0] < 0 || c[n-1] >= len(draw.Heat) {
			t.Errorf("%v: the colours are %v", r, colours)
		}
	}
}

func pictureOf(t result.Table) chart.Picture {
	pic, _ := chart.DrawTable(t)
	return pic
}
