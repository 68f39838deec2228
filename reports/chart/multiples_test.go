package chart

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"locklab/internal/synthetic"
	"locklab/reports/draw"
)

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
			if err != nil {
				t.Fatal(err)
			}
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
	if got := draw.Thin(flat, off); len(got) != 2 {
		t.Errorf("a straight line has %d points, want 2", len(got))
	}
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
