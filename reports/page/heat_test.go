package page

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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

func heatMistakes(colours []uint32, light, dark uint32) (out []string) {
	for i, c := range colours {
		text := light
		if draw.TextOn(i) == draw.Paper {
			text = dark
		}
		if r := contrast(linear(c), linear(text)); r < 4.5 {
			out = append(out, fmt.Sprintf("contrast of a figure on colour %d is %.1f, want 4.5", i, r))
		}
		if i == 0 {
			continue
		}
		for vision, m := range visions {
			a, b := apply(m, linear(colours[i-1])), apply(m, linear(c))
			if de := distance(a, b); de < 6 {
				out = append(out, fmt.Sprintf("colours %d and %d are %.1f apart for %s vision, want 6", i-1, i, de, vision))
			}
			rising := oklab(linear(colours[len(colours)-1]))[0] > oklab(linear(colours[0]))[0]
			if step := 100 * (oklab(b)[0] - oklab(a)[0]); (step > 0) != rising || math.Abs(step) < 3 {
				out = append(out, fmt.Sprintf("lightness goes by %.1f from colour %d to %d for %s vision, want 3 or more, one way", step, i-1, i, vision))
			}
		}
	}
	return out
}

func TestHeatColours(t *testing.T) {
	var light, dark []uint32
	for _, c := range draw.Heat {
		light, dark = append(light, c.Light), append(dark, c.Dark)
	}
	for _, m := range append(heatMistakes(light, draw.Ink.Light, draw.Paper.Light), heatMistakes(dark, draw.Ink.Dark, draw.Paper.Dark)...) {
		t.Error(m)
	}
	// A blank cell must differ visibly from the first class.
	for name, pair := range map[string][2]uint32{"light": {draw.Heat[0].Light, draw.Paper.Light}, "dark": {draw.Heat[0].Dark, draw.Paper.Dark}} {
		if de := distance(linear(pair[0]), linear(pair[1])); de < 6 {
			t.Errorf("%s: the first colour and the page are %.1f apart, want 6", name, de)
		}
	}
	// The checker must reject known bad colours.
	rainbow := []uint32{0x0000FF, 0x00FFFF, 0x00FF00, 0xFFFF00, 0xFF0000}
	if got := strings.Join(heatMistakes(rainbow, draw.Ink.Light, draw.Paper.Light), "\n"); !strings.Contains(got, "one way") || !strings.Contains(got, "contrast of a figure") {
		t.Errorf("a rainbow was not rejected: %q", got)
	}
	greys := []uint32{0xEEEEEE, 0xE4E4E4, 0xDADADA}
	if got := strings.Join(heatMistakes(greys, draw.Ink.Light, draw.Paper.Light), "\n"); !strings.Contains(got, "apart") {
		t.Errorf("three like greys were not rejected: %q", got)
	}
}
