package result

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"locklab/harness"
	"locklab/internal/require"
)

func TestSpans(t *testing.T) {
	var s Spans
	if !math.IsNaN(s.Mean()) {
		t.Errorf("no spans have the mean %v", s.Mean())
	}
	s.Add(10)
	s.Add(25)
	if got := s.Merge(Spans{N: 1, Sum: 40}); got != (Spans{N: 3, Sum: 75}) || got.Mean() != 25 || s.Mean() != 17.5 {
		t.Errorf("10, 25 and 40 give %+v with mean %v, of %v", got, got.Mean(), s.Mean())
	}
}

func histogram(values []int64) Histogram {
	slices.Sort(values)
	var h Histogram
	for _, v := range values {
		if n := len(h); n > 0 && h[n-1].Value == v {
			h[n-1].N++
		} else {
			h = append(h, Bucket{Value: v, N: 1})
		}
	}
	return h
}

func quantileOf(sorted []int64, q float64) float64 {
	for i, v := range sorted {
		if float64(i+1) >= q*float64(len(sorted)) {
			return float64(v)
		}
	}
	return float64(sorted[len(sorted)-1])
}

func drawValues(rnd *rand.Rand, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = rnd.Int64N(1 + rnd.Int64N(1000)) // many equal, some large
	}
	return out
}

func TestHistogramAgainstSlice(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		vs := drawValues(rnd, 1+rnd.IntN(200))
		h := histogram(vs)
		if got := h.Count(); got != int64(len(vs)) {
			t.Fatalf("Count of %v = %d, want %d", vs, got, len(vs))
		}
		var sum float64
		for _, v := range vs {
			sum += float64(v)
		}
		if got, want := h.Mean(), sum/float64(len(vs)); math.Abs(got-want) > 1e-9*max(1, want) {
			t.Fatalf("Mean of %v = %v, want %v", vs, got, want)
		}
		for _, q := range []float64{0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1, rnd.Float64()} {
			if got, want := h.Quantile(q), quantileOf(vs, q); got != want {
				t.Fatalf("Quantile(%v) of %v = %v, want %v", q, vs, got, want)
			}
		}
	}
}

func TestHistogramMerge(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		a, b := drawValues(rnd, rnd.IntN(50)), drawValues(rnd, rnd.IntN(50))
		ha, hb := histogram(a), histogram(b)
		before := slices.Clone(ha)
		want := histogram(slices.Concat(a, b))
		if got := ha.Merge(hb); !slices.Equal(got, want) {
			t.Fatalf("%v merged with %v is %v, want %v", ha, hb, got, want)
		}
		if got := hb.Merge(ha); !slices.Equal(got, want) {
			t.Fatalf("%v merged with %v is %v, want %v", hb, ha, got, want)
		}
		if !slices.Equal(ha, before) {
			t.Fatalf("Merge changed its receiver from %v to %v", before, ha)
		}
	}
}

func TestMergeOwnsItsMemory(t *testing.T) {
	for _, other := range []Histogram{nil, {{Value: 2, N: 1}}} {
		h := Histogram{{Value: 1, N: 1}}
		for _, m := range []Histogram{h.Merge(other), other.Merge(h)} {
			m[0].N = 99
			if h[0].N != 1 {
				t.Fatalf("merging with %v shares memory", other)
			}
		}
	}
}

func TestEmptyHistogram(t *testing.T) {
	var h Histogram
	if !math.IsNaN(h.Quantile(0.5)) || !math.IsNaN(h.Mean()) || h.Count() != 0 {
		t.Errorf("empty: Quantile %v, Mean %v, Count %d; want NaN, NaN, 0", h.Quantile(0.5), h.Mean(), h.Count())
	}
}

// TestQuantileIsExact takes shares whose product with the count is whole, but not in
// floating point.
func TestQuantileIsExact(t *testing.T) {
	var h Histogram
	for v := range int64(100) {
		h = append(h, Bucket{Value: v + 1, N: 1})
	}
	for percent := 1; percent <= 100; percent++ {
		require.Equal(t, percent, h.Quantile(float64(percent)/100), float64(percent))
	}
}

func TestTimeQuantile(t *testing.T) {
	// 990 waits of 1 and one of 9,010: together 10,000.
	greedy := Histogram{{Value: 1, N: 990}, {Value: 9010, N: 1}}
	even := Histogram{{Value: 50, N: 500}, {Value: 100, N: 250}}
	for _, c := range []struct {
		h                   Histogram
		q, want, perAcquire float64
	}{{greedy, 0.5, 9010, 1}, {greedy, 0.09, 1, 1}, {greedy, 0.099, 1, 1}, {greedy, 0.0991, 9010, 1}, {even, 0.5, 50, 50}, {even, 0.51, 100, 50}} {
		if got, per := c.h.TimeQuantile(c.q), c.h.Quantile(min(c.q, 0.5)); got != c.want || per != c.perAcquire {
			t.Errorf("%v at %v: %v, want %v; over acquisitions %v, want %v", c.h, c.q, got, c.want, per, c.perAcquire)
		}
	}
	// Ten waits of 100 are a hundredth of all time together with 99,000 of 1; more waits of 1 hide none.
	for most, want := range map[int64]bool{98_999: false, 99_000: true} {
		if h := (Histogram{{Value: 1, N: most}, {Value: 100, N: 10}}); (h.ResolvedTime() >= 0.99) != want {
			t.Errorf("%v: resolved is %v", h, !want)
		}
	}
	if (Histogram{}).ResolvedTime() > 0 || greedy.ResolvedTime() >= 0.5 {
		t.Error("no wait, or one that dominates, resolves a quantile")
	}
	if !math.IsNaN((Histogram{}).TimeQuantile(0.5)) {
		t.Error("of no waits it is known")
	}
}

func TestDescribeKeepsAll(t *testing.T) {
	v := &harness.Variant{Name: "ticket", Doc: "made up", Paper: "none", Family: harness.Spin, Status: harness.Historical,
		Traits: harness.Traits{FIFO: true}, Complexity: harness.Queued}
	want := Lock{v.Name, v.Doc, v.Paper, v.Family, v.Status, v.Traits, v.Complexity}
	require.Equal(t, "Describe", Describe(v), want)
}
