package stat_test

import (
	"fmt"

	"locklab/internal/stat"
)

// Ten rounds enclose the median with at least 95 %.
func ExampleSummarize() {
	s := stat.Summarize([]float64{31, 29, 30, 28, 33, 30, 27, 32, 30, 29})
	fmt.Printf("%.0f (%.0f to %.0f, %.1f %%)\n", s.Median, s.Lo, s.Hi, 100*s.Confidence)
	// Output: 30 (28 to 32, 97.9 %)
}

// The rounds differ by a factor of ten, but in each of them a is faster: a disturbance of
// a round affects both locks.
func ExamplePaired() {
	a := []float64{10, 20, 100, 15, 12, 90}
	b := []float64{9, 17, 90, 12, 10, 80}
	c := stat.Paired(a, b, 0.95)
	fmt.Printf("%.2f times, beyond doubt: %v\n", c.Median, c.Greater())
	// Output: 1.15 times, beyond doubt: true
}
