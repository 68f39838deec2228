package stat

import "testing"

func TestRead(t *testing.T) {
	for _, c := range []struct {
		lo, hi, margin float64
		enough         bool
		want           Reading
		inverse        Reading
	}{
		{1.06, 1.2, 0.05, true, Slower, AsGood},
		{1.04, 1.2, 0.05, true, Untold, AsGood},
		{1.04, 1.2, 0.03, true, Slower, AsGood},
		{1.04, 1.2, 0.2, true, AsGood, AsGood},
		{0.97, 1.05, 0.05, true, AsGood, AsGood},
		{0.9, 1.05, 0.05, true, AsGood, Untold},
		{0.9, 1.06, 0.05, true, Untold, Untold},
		{0.5, 0.9, 0.05, true, AsGood, Slower},
		{1.06, 1.2, 0.05, false, Untold, Untold},
		{1.01, 1.02, 0, true, Slower, AsGood},
	} {
		r := Ratio{Summary: Summary{Median: (c.lo + c.hi) / 2, Lo: c.lo, Hi: c.hi, N: 10, Confidence: 0.97}, Level: 0.95}
		if !c.enough {
			r.Level = 0.99
		}
		if got, inverse := r.Read(c.margin), r.Inverse().Read(c.margin); got != c.want || inverse != c.inverse {
			t.Errorf("%v to %v at %v: %q, the other way round %q; want %q, %q", c.lo, c.hi, c.margin, got, inverse, c.want, c.inverse)
		}
	}
}
