package chart

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"locklab/harness"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
	"locklab/reports/draw"
)

// TestFrames: eight lines share a frame; nine have one each, with the others behind.
func TestFrames(t *testing.T) {
	for _, n := range []int{draw.MostLines, draw.MostLines + 1} {
		var models []synthetic.Model
		for i := range n {
			models = append(models, synthetic.Fast(fmt.Sprintf("lock-%c", 'a'+i), 1e5*float64(i+1)))
		}
		g := Groups(synthetic.Run(1, 6, 2, []int{1, 2, 8}, models...))[0]
		for _, c := range []*Chart{ThroughputLocal, WaitLocal, JainLocal} {
			pic := c.Draw(g)
			svg, err := draw.Inline(pic.Picture, "x", c.Title, pic.Answer)
			if err != nil {
				t.Fatal(err)
			}
			frames := n > draw.MostLines
			if strings.Contains(svg, "the other locks") != frames || strings.Contains(svg, "var(--ghost)") != frames {
				t.Errorf("chart %s of %d locks: want frames %v", c.Name, n, frames)
			}
			for _, m := range models {
				if !strings.Contains(svg, m.Lock.Name) {
					t.Errorf("chart %s of %d locks does not name %s", c.Name, n, m.Lock.Name)
				}
			}
			if ghosts := strings.Count(svg, "stroke:var(--ghost)"); frames && ghosts != n+1 { // and the note
				t.Errorf("chart %s of %d locks has %d grey paths, want one a frame and a sample", c.Name, n, ghosts)
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

func TestHandovers(t *testing.T) {
	poll := synthetic.Model{Lock: synthetic.Served("poll", harness.Redis, harness.KindRedis), Rate: synthetic.Constant(5000), Handed: 0.01}
	queue := synthetic.Model{Lock: synthetic.Served("queue", harness.Redis, harness.KindRedis), Rate: synthetic.Constant(500), Handed: 1}
	pic := HandoversRemote.Draw(Groups(synthetic.Run(1, 6, 2, []int{1, 2, 8}, poll, queue))[0])
	got := strings.ReplaceAll(pic.Answer, numfmt.Space, " ")
	for _, want := range []string{"With 8 workers, queue has the most handovers (", "10 times the fewest, poll (49"} {
		if !strings.Contains(got, want) {
			t.Errorf("the answer %q lacks %q", got, want)
		}
	}
	if head := strings.Join(Texts(pic.Numbers.Head), " "); !strings.Contains(head, "acq/s") || !strings.Contains(head, "handovers") {
		t.Errorf("the table has %q, want acquisitions and handovers", head)
	}
}
