package harness

import "math"

// A Histogram has counts of values in ascending order of value, such as latencies in
// nanoseconds. Its zero value is empty. The recorder makes it from fixed log-linear
// buckets with three significant figures (the layout of HdrHistogram), so every value is
// the top of its bucket.
type Histogram []Bucket

// A Bucket counts N observations; Value is the greatest value of the bucket.
type Bucket struct{ Value, N int64 }

// Count returns the number of observations.
func (h Histogram) Count() int64 {
	var n int64
	for _, b := range h {
		n += b.N
	}
	return n
}

// Quantile returns the smallest recorded value v such that at least a share q
// of the observations, 0 <= q <= 1, is at most v; NaN if h is empty.
func (h Histogram) Quantile(q float64) float64 {
	total := h.Count()
	if total == 0 {
		return math.NaN()
	}
	// Without the factor the product of the two floats may round up: 0.07 of 100 is 7.
	rank := max(1, int64(math.Ceil(q*float64(total)*(1-1e-15))))
	var seen int64
	for _, b := range h {
		if seen += b.N; seen >= rank {
			return float64(b.Value)
		}
	}
	return float64(h[len(h)-1].Value)
}

// TimeQuantile returns the smallest recorded value v such that the observations up to v
// add up to at least a share q of the total; NaN if h is empty. For waits, it is the wait
// that a worker is in at a random moment of its waiting.
func (h Histogram) TimeQuantile(q float64) float64 {
	var sum, seen float64
	for _, b := range h {
		sum += float64(b.Value) * float64(b.N)
	}
	for _, b := range h {
		if seen += float64(b.Value) * float64(b.N); seen >= q*sum*(1-1e-15) {
			return float64(b.Value)
		}
	}
	return math.NaN()
}

// Mean returns the average value; NaN if h is empty.
func (h Histogram) Mean() float64 {
	var sum float64
	for _, b := range h {
		sum += float64(b.Value) * float64(b.N)
	}
	return sum / float64(h.Count())
}

// Merge returns the observations of h and g together.
func (h Histogram) Merge(g Histogram) Histogram {
	out := make(Histogram, 0, max(len(h), len(g)))
	for len(h) > 0 && len(g) > 0 {
		switch a, b := h[0], g[0]; {
		case a.Value < b.Value:
			out, h = append(out, a), h[1:]
		case a.Value > b.Value:
			out, g = append(out, b), g[1:]
		default:
			out, h, g = append(out, Bucket{a.Value, a.N + b.N}), h[1:], g[1:]
		}
	}
	return append(append(out, h...), g...)
}
