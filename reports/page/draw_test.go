package page

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"locklab/harness"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		labels := make([]draw.EndLabel, 1+rng.IntN(30))
		for i := range labels {
			labels[i].Y = vg.Length(rng.Float64() * 300)
			if rng.IntN(3) == 0 {
				labels[i].Y = 100
			}
		}
		const gap, lo, hi = 10, -6, 306
		pos := draw.Spread(labels, gap, lo, hi)
		order := make([]int, len(labels))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, float64(pos[a]-pos[b]))) })
		for k := 1; k < len(order); k++ {
			a, b := order[k-1], order[k]
			if pos[b]-pos[a] < gap-1e-6 {
				t.Fatalf("labels at %v and %v are less than %v apart", pos[a], pos[b], gap)
			}
			if labels[a].Y > labels[b].Y {
				t.Fatalf("label for %v is below that for %v", labels[a].Y, labels[b].Y)
			}
		}
		if first, last := pos[order[0]], pos[order[len(order)-1]]; first < lo-1e-6 || last > hi+1e-6 {
			t.Fatalf("labels reach from %v to %v, outside %v to %v", first, last, lo, hi)
		}
	}
	// A single label stays at its line. If labels do not fit, they share the room equally.
	if pos := draw.Spread([]draw.EndLabel{{Y: 50}}, 10, 0, 300); pos[0] != 50 {
		t.Errorf("a lone label moved to %v", pos[0])
	}
	many := draw.Spread(make([]draw.EndLabel, 50), 10, 0, 98)
	if slices.Max(many) > 98.001 || slices.Min(many) < -0.001 {
		t.Errorf("the labels reach from %v to %v, outside 0 to 98", slices.Min(many), slices.Max(many))
	}
}

func TestAxes(t *testing.T) {
	if lo, hi := draw.LogRange(5, 5); lo >= 5 || hi <= 5 {
		t.Errorf("a constant has the range %v to %v", lo, hi)
	}
	for _, bad := range [][2]float64{{0, 0}, {math.Inf(1), 0}, {math.NaN(), 1}, {1, math.Inf(1)}} {
		if lo, hi := draw.LogRange(bad[0], bad[1]); !(lo > 0 && hi > lo) {
			t.Errorf("logRange(%v) is %v to %v", bad, lo, hi)
		}
	}
	for _, ticks := range [][2]float64{{1e-300, 1e300}, {20, 3e6}, {5, 6}} {
		labelled := 0
		for _, tick := range draw.LogTicks(ticks[0], ticks[1], numfmt.SI) {
			if tick.Value < ticks[0]*0.999 || tick.Value > ticks[1]*1.001 {
				t.Errorf("a tick at %v lies outside %v", tick.Value, ticks)
			}
			if tick.Label != "" {
				labelled++
			}
		}
		if labelled < 2 {
			t.Errorf("%v has %d labels", ticks, labelled)
		}
	}
	// Labels of crowded worker counts must not touch. The first and last stay.
	ticks := draw.StopTicks(numbered(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16), draw.Logarithm)
	if ticks[0].Label != "1" || ticks[len(ticks)-1].Label != "16" || ticks[len(ticks)-2].Label != "" {
		t.Errorf("labels are %v", ticks)
	}
}

func TestStylesDiffer(t *testing.T) {
	var results []*harness.Result
	for i := range 28 {
		results = append(results, &harness.Result{Lock: synthetic.Local(string(rune('a'+i)), harness.Spin, harness.Correct)})
	}
	type sight struct {
		dash   int
		marker any
	}
	seen := make(map[sight]string)
	for name, l := range chart.AssignStyles(results) {
		s := sight{slices.IndexFunc(draw.Dashes, func(d []vg.Length) bool { return slices.Equal(d, l.Dash) }), l.Marker}
		if seen[s] != "" {
			t.Errorf("%s looks like %s", name, seen[s])
		}
		seen[s] = name
	}
}

func TestShorten(t *testing.T) {
	st := draw.Typeset(9, draw.Ink, 0, 0)
	for _, c := range []struct {
		text string
		w    vg.Length
	}{{"short", 100}, {"a long name that does not fit", 60}, {"ä€𝄞ä€𝄞ä€𝄞ä€𝄞ä€𝄞", 40}, {strings.Repeat("x", 1<<20), 50}, {"x y", 0}} {
		got := draw.Shorten(st, c.text, c.w)
		whole := st.Width(c.text) <= c.w
		cut, marked := strings.CutSuffix(got, "…")
		if whole != (got == c.text) || !whole && (!marked || !strings.HasPrefix(c.text, cut)) || st.Width(got) > max(c.w, st.Width("…")) {
			t.Errorf("%.40q to %v: got %q", c.text, c.w, got)
		}
		if next := []rune(strings.TrimPrefix(c.text, cut)); !whole && cut != "" && st.Width(cut+string(next[:1])+"…") <= c.w {
			t.Errorf("%.40q to %v: got %q, which has room for more", c.text, c.w, got)
		}
	}
}

func numbered(ns ...int) (out []draw.Stop) {
	for _, n := range ns {
		out = append(out, draw.Stop{At: float64(n), Label: strconv.Itoa(n)})
	}
	return out
}
