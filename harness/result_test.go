package harness

import (
	"math"
	"testing"
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
