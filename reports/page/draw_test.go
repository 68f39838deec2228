package page

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"locklab/internal/numfmt"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

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
	for _, r := range [][2]float64{{0, 2.6}, {-3, 17}, {-1e290, 1e290}, {0, 1e-290}, {1e17, 1e17 + 16}} {
		ticks := draw.LinearTicks(r[0], r[1], chart.Quantity(""))
		if len(ticks) < 3 || len(ticks) > 9 || ticks[0].Value < r[0] || ticks[len(ticks)-1].Value > r[1] {
			t.Errorf("%v has the ticks %v", r, ticks)
		}
	}
	// Labels of crowded worker counts must not touch. The first and last stay.
	ticks := draw.StopTicks(numbered(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16), draw.Logarithm)
	if ticks[0].Label != "1" || ticks[len(ticks)-1].Label != "16" || ticks[len(ticks)-2].Label != "" {
		t.Errorf("labels are %v", ticks)
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
