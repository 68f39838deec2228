package page

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/require"
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
	stops := result.Each([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16}, func(n int) draw.Stop { return draw.Stop{At: float64(n), Label: strconv.Itoa(n)} })
	ticks := draw.StopTicks(stops, draw.Logarithm)
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

// TestFormats: figures, names and sources have these forms in a report.
func TestFormats(t *testing.T) {
	quantity := func(v float64, unit string) string { return numfmt.Plain(chart.Quantity(unit)(v)) }
	ratio := func(median, lo, hi float64) string {
		return chart.GainText(&judge.Ratio{Median: median, Lo: lo, Hi: hi})
	}
	source := func(ms []*result.Metric, fields []string, rounds ...int) string {
		return chart.Source{Metrics: ms, Fields: fields, Rounds: rounds}.Sentence()
	}
	wait := func(q, floor float64) string { // the floor of the clock is no latency
		h := result.Histogram{{Value: 7, N: 5000}, {Value: 900, N: 5000}}
		return numfmt.Plain(chart.FigureText(judge.Quantile(h, q, floor), numfmt.Nanos))
	}
	for _, c := range []struct{ got, want string }{
		{wait(0.5, 150), "≤ 150 ns"}, {wait(0.9, 150), "900 ns"}, {wait(0.5, 0), "7 ns"}, {wait(0.9999, 150), "–"},
		{quote("a-b=1,2"), "a-b=1,2"}, {quote("a b"), "'a b'"}, {quote("it's"), `'it'\''s'`}, {quote(""), "''"},

		{quantity(1340, "ns"), "1.34 µs"}, {quantity(0, "ns"), "0 ns"}, {quantity(-12, "ns"), "−12 ns"}, {quantity(99.6, "%"), "99.6 %"},
		{quantity(412_000, "per million"), "412 k per million"}, {quantity(2.55, ""), "2.55"}, {quantity(1e300, ""), "1e+300"},
		{quantity(1e-9, ""), "1e-09"}, {quantity(math.NaN(), ""), "–"},

		{ratio(1.524, 1.31, 1.8), "1.5x (1.3–1.8)"}, {ratio(1.021, 0.981, 1.06), "1.02x (0.98–1.06)"}, {ratio(0.138, 0.091, 0.17), "0.14x (0.09–0.17)"},
		{ratio(0.0291, 0.017, 0.038), "0.029x (0.017–0.038)"}, {ratio(13.2, 11, 17.1), "13x (11–17)"}, {ratio(1.2, 1.04, 1.38), "1.20x (1.04–1.38)"},

		{inlineText("a|b"), "a&#124;b"}, {inlineText(`\`), `\\`}, {inlineText("`"), "\\`"}, {inlineText("a\nb\tc\x00"), "a b c"},
		{inlineText("12" + numfmt.Space + "µs"), "12" + numfmt.Space + "µs"}, {inlineText(""), ""},
		{blockText("# a"), `\# a`}, {blockText("- a"), `\- a`}, {blockText("+ a"), `\+ a`}, {blockText("1. a"), `1\. a`}, {blockText("12) a"), `12\) a`},
		{blockText("12 a"), "12 a"}, {blockText("="), `\=`}, {blockText("12"), "12"}, {blockText(""), ""},
		{chart.SlugOf("hold=1µs gc=on"), "hold-1us-gc-on"}, {chart.SlugOf("../../etc"), "etc"}, {chart.SlugOf(""), "other"}, {chart.SlugOf("<x>"), "x"},

		{chart.Source{}.Sentence(), ""},
		{source([]*result.Metric{result.Jain}, nil, 1), "Data: metric jain (jain-bucket-%) of results.jsonl, 1 round."},
		{source([]*result.Metric{result.Throughput, result.Jain, result.Time}, []string{"wait", "hold"}, 5),
			"Data: metrics throughput (acq/s), jain (jain-bucket-%) and time (ns/op) and fields wait and hold of results.jsonl, 5 rounds."},
		{chart.Source{Metrics: []*result.Metric{result.Time}, Fields: []string{"hold"}, Experiments: []string{"cost"}, Rounds: []int{5}}.Sentence(),
			"Data: metric time (ns/op), field hold and experiment cost of results.jsonl, 5 rounds."},
		{chart.Source{Experiments: []string{"cost"}, Table: 2}.Sentence(), "Data: experiment cost of results.jsonl, table 2."},
		{source(nil, []string{"wait"}, 6, 6), "Data: field wait of each machine's results.jsonl, 6 rounds."},
		{source(nil, []string{"wait"}, 10, 6), "Data: field wait of each machine's results.jsonl, 6 to 10 rounds."},
	} {
		require.Equal(t, "the text", c.got, c.want)
	}
}
