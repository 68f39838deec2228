package page

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

// TestUnresolvedTail: the part of a curve without enough samples is thin and grey.
func TestUnresolvedTail(t *testing.T) {
	tail := regexp.MustCompile(`stroke:(#[0-9A-F]{6});[^"]*stroke-width:0\.8"`)
	for _, c := range []struct {
		samples int64
		grey    bool
	}{{200, true}, {5_000_000, false}} {
		run := synthetic.Run(1, 1, 2, []int{2}, synthetic.Model{Lock: synthetic.Local("few", harness.Spin, harness.Correct), Rate: synthetic.Constant(1e6), Handed: 1, Noise: 0.01})
		for _, r := range run.Results {
			r.Wait = waitsOf(c.samples, 5000)
		}
		var svg bytes.Buffer
		if err := WriteSVG(&svg, run, chart.WaitLocal.Name); err != nil {
			t.Fatal(err)
		}
		found := tail.FindAllStringSubmatch(svg.String(), -1)
		if (len(found) > 0) != c.grey {
			t.Errorf("%d samples, which resolve %v: %d thin lines", c.samples, result.Resolved(c.samples), len(found))
		}
		for _, f := range found {
			if f[1] != draw.CSS(draw.Muted.Light) {
				t.Errorf("a tail is drawn in %s, want %s", f[1], draw.CSS(draw.Muted.Light))
			}
		}
		if n := strings.Count(svg.String(), "stroke-opacity:0.43"); n > 0 { // 110 of 255
			t.Errorf("%d lines are pale", n)
		}
	}
}

func waitsOf(n int64, centres ...float64) harness.Histogram {
	counts := make(map[int64]int64)
	for _, c := range centres {
		for i := range n {
			q := (float64(i) + 0.5) / float64(n)
			counts[int64(c*math.Exp(0.1*math.Sqrt2*math.Erfinv(2*q-1)))]++
		}
	}
	var h harness.Histogram
	for v, n := range counts {
		h = append(h, harness.Bucket{Value: v, N: n})
	}
	slices.SortFunc(h, func(a, b harness.Bucket) int { return int(a.Value - b.Value) })
	return h
}
