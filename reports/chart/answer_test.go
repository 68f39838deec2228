package chart

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/require"
	"locklab/internal/synthetic"
	"locklab/reports/draw"
)

func TestAnswers(t *testing.T) {
	steady := synthetic.With(synthetic.Fast("steady", 1e6), func(m *synthetic.Model) { m.Noise = 0 })
	falling := synthetic.With(steady, func(m *synthetic.Model) {
		m.Lock.Name, m.Skew = "falling", 4
		m.Rate = func(w int) float64 { return 4e6 / math.Pow(float64(w), 2) }
	})
	control := synthetic.With(steady, func(m *synthetic.Model) {
		m.Lock.Name, m.Lock.Status, m.Rate = "nothing", harness.Control, synthetic.Constant(1e9)
	})
	run := synthetic.Run(3, 10, 2, []int{1, 2, 8}, steady, falling, control)
	g := Groups(run)[0]
	answers := make(map[string]string)
	for _, c := range Suite {
		answers[c.Name] = strings.ReplaceAll(c.Draw(g).Answer, numfmt.Space, " ")
	}
	// At 8 workers, steady has 1 M/s and falling 4/64 M/s, 1.6 % of its rate alone.
	for name, want := range map[string][]string{
		"throughput": {"From 1 worker to 8, steady loses none of its rate (100 %) and falling keeps least (1.6 %).", "steady has the highest median (1 M/s), 16 times the lowest, falling ("},
		"wait":       {"With 8 workers, falling has the longest p99 wait at a random moment (~", "times the shortest, steady ("},
		"fairness":   {"With 8 workers, 1 of 2 locks share nearly equally (Jain 95 % or more): steady. The least fair is falling"},
	} {
		for _, w := range want {
			if !strings.Contains(answers[name], w) {
				t.Errorf("%s answers %q, want it to have %q", name, answers[name], w)
			}
		}
		if strings.Contains(answers[name], "nothing") {
			t.Errorf("%s names a control: %q", name, answers[name])
		}
	}
	for _, r := range run.Results { // falling has an index of 94.7 %, which is printed as 95 %
		if r.BucketCounts, r.Workers = nil, []uint64{1000, 1000}; r.Lock.Name == "falling" {
			r.Workers = []uint64{763, 1237}
		}
	}
	if got := JainLocal.Draw(Groups(run)[0]).Answer; !strings.HasPrefix(got, "With 8 workers, yes: every lock") {
		t.Errorf("fairness answers %q", got)
	}
	require.Equal(t, "extremes", extremes([]figure{{name: "a", v: 3}, {name: "b"}, {name: "c"}}, "the most", "the least", numfmt.Number), "a has the most (3), c has the least (0), the same as b")
}

func TestWaitAnswerIsTrue(t *testing.T) {
	quick := synthetic.Fast("quick", 1e6)
	slow := synthetic.With(synthetic.Fast("slow", 1e3), func(m *synthetic.Model) { m.Noise = 0 }) // 15 samples a round, 150 in all: p90
	g := Groups(synthetic.Run(3, 10, 2, []int{1, 8}, quick, slow))[0]
	got := DrawWait(g).Answer
	if !strings.Contains(got, "slow has the longest p90 wait at a random moment (") || !strings.Contains(got, "times the shortest, quick (") {
		t.Errorf("got %q, want p90, which both locks resolve", got)
	}
	// 64 acquisitions a round give one sample each: too few for any quantile of slow.
	slow.Rate = synthetic.Constant(64)
	g = Groups(synthetic.Run(3, 10, 2, []int{1, 8}, quick, slow))[0]
	if got := DrawWait(g).Answer; !strings.Contains(got, "of the 1 of 2 locks with enough samples") {
		t.Errorf("got %q, want it to say that one lock has too few samples", got)
	}
}

// TestCurveEnds: a curve of waits ends at the greatest quantile that its samples resolve.
func TestCurveEnds(t *testing.T) {
	for n, want := range map[int64]float64{1: 0, 200: 0.95, 5_000_000: 0.99999} {
		g := Groups(synthetic.Run(3, 1, 2, []int{8}, synthetic.Fast("a", 1e6)))[0]
		l := waitLines(g, []curve{{g.Series[0], result.Histogram{{Value: 100, N: n}}}})
		points := l.Lines[0].Points
		if got := l.Stops[points[len(points)-1].Stop].At; got > want || (1-got)/(1-want) > 1.05 {
			t.Errorf("%d samples: the curve ends at %v, want %v", n, got, want)
		}
	}
}

// TestZeroMedian: a logarithmic axis has no place for an interval from 0, so the label has its end.
func TestZeroMedian(t *testing.T) {
	pic, _ := DrawTable(result.Table{Chart: result.Bars, Log: true, Columns: []result.Column{{Name: "lost", Plot: true}}, Rows: []result.Row{
		{Label: "now and then", Cells: []result.Cell{{Hi: 5000, N: 3}}},
		{Label: "always", Cells: []result.Cell{{Median: 400, Lo: 300, Hi: 500, N: 3}}},
	}})
	svg, err := draw.Inline(pic.Picture, "x", "lost", "")
	if err != nil || !strings.Contains(svg, "0 to 5") {
		t.Errorf("no label has the range 0 to 5 k, or %v:\n%s", err, svg)
	}
}

// TestFrames: each of several lines has a frame, with the others behind.
func TestFrames(t *testing.T) {
	for _, n := range []int{1, 3, 9} {
		var models []synthetic.Model
		for i := range n {
			models = append(models, synthetic.Fast(fmt.Sprintf("lock-%c", 'a'+i), 1e5*float64(i+1)))
		}
		g := Groups(synthetic.Run(1, 6, 2, []int{1, 2, 8}, models...))[0]
		for _, c := range []*Chart{ThroughputLocal, WaitLocal, JainLocal} {
			svg, err := draw.Inline(c.Draw(g).Picture, "x", c.Title, "")
			require.NoError(t, err)
			want := 0
			if n > 1 {
				want = n + 1 // and the note
			}
			if ghosts := strings.Count(svg, "stroke:var(--ghost)"); ghosts != want || !strings.Contains(svg, models[n-1].Lock.Name) {
				t.Errorf("chart %s of %d locks has %d grey paths, want %d, or lacks a name", c.Name, n, ghosts, want)
			}
		}
	}
}

func TestThin(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const off = 0.5
	for range 200 {
		var pts []vg.Point
		x, y := vg.Length(0), vg.Length(0)
		for range 1 + rng.IntN(80) {
			x, y = x+vg.Length(rng.Float64()), y+vg.Length(rng.NormFloat64())
			pts = append(pts, vg.Point{X: x, Y: y})
		}
		got := draw.Thin(pts, off)
		if got[0] != pts[0] || got[len(got)-1] != pts[len(pts)-1] {
			t.Fatal("an end is gone")
		}
		for _, p := range pts {
			near := math.Inf(1)
			for i := range got {
				near = min(near, distanceTo(p, got[max(0, i-1)], got[i]))
			}
			if near > off+1e-9 {
				t.Fatalf("the line of %d points, thinned to %d, misses %v by %v", len(pts), len(got), p, near)
			}
		}
	}
	flat := make([]vg.Point, 50)
	for i := range flat {
		flat[i].X = vg.Length(i)
	}
	require.Equal(t, "points of a straight line", len(draw.Thin(flat, off)), 2)
}

func distanceTo(p, a, b vg.Point) float64 {
	d := b.Sub(a)
	f := 0.0
	if long := float64(d.X*d.X + d.Y*d.Y); long > 0 {
		f = max(0, min(1, float64((p.X-a.X)*d.X+(p.Y-a.Y)*d.Y)/long))
	}
	q := a.Add(d.Scale(vg.Length(f)))
	return math.Hypot(float64(p.X-q.X), float64(p.Y-q.Y))
}
