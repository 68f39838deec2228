package stat

import (
	"math"
	"slices"
	"testing"

	"locklab/internal/require"
)

// TestMedianRank compares with sums of binomial coefficients in rational arithmetic.
func TestMedianRank(t *testing.T) {
	for _, c := range []struct {
		n, rank int
		level   float64
	}{
		{1, 1, 0}, {2, 1, 0.5}, {3, 1, 0.75}, {5, 1, 0.9375}, {6, 1, 0.96875}, {8, 1, 0.9921875},
		{9, 2, 0.9609375}, {10, 2, 0.978515625}, {12, 3, 0.96142578125}, {15, 4, 0.96484375},
		{20, 6, 0.958610534668}, {25, 8, 0.956714749336}, {100, 40, 0.964799799782},
	} {
		rank, level := medianRank(c.n, 0.95)
		if rank != c.rank || math.Abs(level-c.level) > 1e-9 {
			t.Errorf("n=%d: got rank %d at %.12f, want %d at %.12f", c.n, rank, level, c.rank, c.level)
		}
		if enough := c.n >= MinRounds; enough != (level >= level95) {
			t.Errorf("%d rounds reach %v, and %d are needed", c.n, level, MinRounds)
		}
	}
	for n := range 5000 {
		// Near the normal approximation, and never past the middle.
		rank, _ := medianRank(n, 0.95)
		if k := float64(rank - 1); n >= 6 && math.Abs(k-(float64(n)-1.96*math.Sqrt(float64(n)))/2) > 1.5 || n > 0 && k > float64(n-1)/2 {
			t.Fatalf("of %d samples rank %v", n, k)
		}
	}
}

func TestSummarize(t *testing.T) {
	s := Summarize([]float64{10, 9, 8, 7, 6, 5, math.NaN(), 4, 3, 2, 1})
	require.Equal(t, "the summary", s, (Summary{Median: 5.5, Lo: 2, Hi: 9, Confidence: s.Confidence, N: 10}))
	if math.Abs(s.Spread()-3.5/5.5) > 1e-12 {
		t.Errorf("spread is %v, want %v", s.Spread(), 3.5/5.5)
	}
	xs := []float64{3, 1, 2}
	if s := Summarize(xs); s.Lo != 1 || s.Hi != 3 || s.Confidence != 0.75 || xs[0] != 3 {
		t.Errorf("three values: got %+v, want their range at 0.75; they are now %v", s, xs)
	}
	for _, xs := range [][]float64{nil, {math.NaN()}} {
		if s := Summarize(xs); s.N != 0 || !math.IsNaN(s.Median) || !math.IsNaN(s.Lo) || !math.IsNaN(s.Hi) {
			t.Errorf("Summarize(%v) = %+v, want NaN with N 0", xs, s)
		}
		if a, b, c := Median(xs), MidMean(xs), MedianRatio(xs); !math.IsNaN(a) || !math.IsNaN(b) || !math.IsNaN(c) {
			t.Errorf("of %v: %v, %v, %v, want NaN", xs, a, b, c)
		}
	}
}

func TestLastRank(t *testing.T) {
	for _, c := range []struct {
		level      float64
		rank       int
		confidence float64
	}{{0.05, 9, 0.1}, {0.2, 8, 0.2}, {0.45, 5, 0.5}, {0.85, 1, 0.9}, {0.95, 1, 0.9}} {
		for near := -1; near < 12; near++ {
			rank, confidence := lastRank(9, near, c.level, func(k int) float64 { return float64(10-k) / 10 })
			if rank != c.rank || confidence != c.confidence {
				t.Errorf("at %v, guess %d: rank %d with %v, want %d with %v", c.level, near, rank, confidence, c.rank, c.confidence)
			}
		}
	}
}

func TestMidMean(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 4}, {[]float64{100, 1, 2, 4}, 3}, {[]float64{math.NaN(), 7}, 7}, {[]float64{8, 3, 1, 2, 4, 5, 7, 600}, 4.75}} {
		before := slices.Clone(c.xs)
		if got := MidMean(c.xs); got != c.want || !slices.EqualFunc(c.xs, before, func(a, b float64) bool { return a == b || a != a && b != b }) {
			t.Errorf("MidMean(%v) is %v, want %v", before, got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}, {[]float64{math.NaN(), 7}, 7}, {[]float64{1, math.Inf(1), math.Inf(1)}, math.Inf(1)}} {
		require.Equal(t, c.xs, Median(c.xs), c.want)
		require.Equal(t, c.xs, Summarize(c.xs).Median, c.want)
	}
}
