package draw

import (
	"math"
	"slices"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Warp is an increasing function as a plot.Normalizer. plot.LogScale panics outside its
// domain; a warp never does.
type Warp func(x float64) float64

// Normalize maps from to 0 and to to 1.
func (f Warp) Normalize(from, to, x float64) float64 {
	lo, hi := f(from), f(to)
	if !(hi > lo) {
		return 0.5
	}
	return (f(x) - lo) / (hi - lo)
}

// Logarithm is a log scale. It places values of zero or less at the least positive number.
func Logarithm(x float64) float64 { return math.Log(math.Max(x, math.SmallestNonzeroFloat64)) }

// Tail spreads quantiles q so that every further nine takes the same room.
func Tail(q float64) float64 { return -math.Log10(math.Max(1-q, 1e-9)) }

func newPlot(xMin, xMax, yMin, yMax float64) *plot.Plot {
	p := plot.New()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = xMin, xMax, yMin, yMax
	return p
}

func gridlines(c draw.Canvas, p *plot.Plot) {
	_, trY := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if !t.IsMinor() {
			c.StrokeLine2(draw.LineStyle{Color: Grid.RGBA(), Width: vg.Points(0.6)}, c.Min.X, trY(t.Value), c.Max.X, trY(t.Value))
		}
	}
}

func Rect(x0, y0, x1, y1 vg.Length) []vg.Point {
	return []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}}
}

// LogTicks returns ticks for a log axis from lo to hi, labelled by format. They are at
// powers of ten, thinned if there are too many, and also at 2 and 5 if there are few.
func LogTicks(lo, hi float64, format func(float64) string) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	decades := math.Log10(hi) - math.Log10(lo)
	every := math.Ceil(decades / 10)
	for d := math.Floor(math.Log10(lo)); d <= math.Ceil(math.Log10(hi)); d++ {
		if math.Mod(d, every) != 0 {
			continue
		}
		for i := 1; i < 10; i++ {
			v := float64(i) * math.Pow(10, d)
			if v < lo*0.9999 || v > hi*1.0001 {
				continue
			}
			label := ""
			if i == 1 || decades < 3 && (i == 2 || i == 5) || decades < 0.6 {
				label = format(v)
			}
			ticks = append(ticks, plot.Tick{Value: v, Label: label})
		}
	}
	return ticks
}

// LogRange widens a positive range a little: no line lies on the frame.
func LogRange(lo, hi float64) (from, to float64) {
	if !(lo > 0) || math.IsInf(hi, 0) || !(hi >= lo) {
		return 1, 10
	}
	pad := math.Max(math.Pow(hi/lo, 0.06), 1.12)
	if hi/lo < 2 {
		pad = 1.5
	}
	return math.Max(lo/pad, 1e-300), math.Min(hi*pad, 1e300)
}

// StopTicks labels the stops of an axis without overlap: the ends, then the powers of two.
func StopTicks(stops []Stop, scale Warp) plot.ConstantTicks {
	if scale == nil {
		scale = func(x float64) float64 { return x }
	}
	room := scale(stops[len(stops)-1].At) - scale(stops[0].At)
	const char, least = 0.0105, 0.045 // of the width of a frame
	extent := func(i int) (from, to float64) {
		half := max(least, char*float64(utf8.RuneCountInString(stops[i].Label))+0.012) / 2 * room
		return scale(stops[i].At) - half, scale(stops[i].At) + half
	}
	ticks := make(plot.ConstantTicks, len(stops))
	for i, s := range stops {
		ticks[i].Value = s.At
	}
	for _, i := range spaced(len(stops), func(i int) int { return stopRank(stops, i) }, extent) {
		ticks[i].Label = stops[i].Label
	}
	return ticks
}

func stopRank(stops []Stop, i int) int {
	fraction, _ := math.Frexp(stops[i].At)
	switch {
	case i == 0 || i == len(stops)-1:
		return 0
	case fraction == 0.5:
		return 1
	}
	return 2
}

// LinearTicks returns up to seven labelled ticks at round figures from lo to hi.
func LinearTicks(lo, hi float64, format func(float64) string) plot.ConstantTicks {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/6)))
	for _, f := range []float64{1, 2, 2.5, 5, 10} {
		if (hi-lo)/(step*f) <= 6 {
			step *= f
			break
		}
	}
	var ticks plot.ConstantTicks
	for i := math.Ceil(lo / step); i*step <= hi && len(ticks) < 9; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: format(i * step)})
	}
	return ticks
}

// spaced returns the indices of the n labels that do not overlap. Those of rank 0 come first,
// then those of rank 1 and 2. Labels of other ranks are left out.
func spaced(n int, rank func(i int) int, extent func(i int) (from, to float64)) (out []int) {
	for r := range 3 {
		for i := range n {
			from, to := extent(i)
			if rank(i) == r && !slices.ContainsFunc(out, func(k int) bool {
				a, b := extent(k)
				return from < b && a < to
			}) {
				out = append(out, i)
			}
		}
	}
	return out
}

// A Stop is a position on an axis. Without a label it has no tick, and lines have no mark there.
type Stop struct {
	At    float64
	Label string
}

// tickRank returns the rank of a labelled tick: powers of ten, their multiples by 2 and 5,
// others. Minor ticks have none.
func tickRank(t plot.Tick) int {
	switch {
	case t.IsMinor():
		return -1
	case powerOfTen(t.Value):
		return 0
	case powerOfTen(t.Value / 2), powerOfTen(t.Value / 5):
		return 1
	}
	return 2
}

func powerOfTen(v float64) bool {
	e := math.Log10(v)
	return v > 0 && math.Abs(e-math.Round(e)) < 1e-9
}

// Beyond is the limit above which a figure counts as a mistake: sums of such figures overflow.
const Beyond = 1e290
