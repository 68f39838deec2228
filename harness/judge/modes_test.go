package judge

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"locklab/internal/synthetic"
)

func TestModes(t *testing.T) {
	for name, c := range map[string]struct {
		rates []float64
		want  []Mode
	}{
		"two":              {[]float64{3.5, 0.96, 3.6, 0.98, 3.4, 1.0, 3.5, 3.55}, []Mode{{0.98, 3, 0}, {3.5, 5, 0}}},
		"one":              {[]float64{1, 1.1, 0.9, 1.05, 1, 0.95}, nil},
		"a single outlier": {[]float64{1, 1.1, 0.9, 1.05, 1, 5}, nil},
		"near each other":  {[]float64{1, 1.01, 1, 1.2, 1.21, 1.2}, nil},
		"wide groups":      {[]float64{1, 2, 4, 8, 16, 32}, nil},
		"zeros":            {[]float64{0, 0, 0, 1, 1, 1}, nil},
		"too few":          {[]float64{1, 9}, nil},
		"two of four":      {[]float64{1, 1.01, 9, 9.1}, nil},
		"nothing":          {nil, nil},
	} {
		if got := modes(c.rates); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	const tries = 2000
	for _, sd := range []float64{0.05, 0.3, 0.8} {
		found, two := 0, 0
		for range tries {
			one, both := make([]float64, 12), make([]float64, 12)
			for i := range one {
				one[i] = math.Exp(sd * rng.NormFloat64())
				both[i] = math.Exp(0.1*rng.NormFloat64() + 1.2*float64(i%2))
			}
			if modes(one) != nil {
				found++
			}
			if modes(both) != nil {
				two++
			}
		}
		if found > tries/50 || two < tries*8/10 {
			t.Errorf("noise of %v: %d of %d have two modes; of two real modes %d are found", sd, found, tries, two)
		}
	}
}

// TestKept: each mode has the share of acquisitions that its rounds kept.
func TestKept(t *testing.T) {
	run := synthetic.Run(1, 10, 2, []int{2}, synthetic.Fast("a", 1e6))
	for i, r := range run.Results {
		r.Ops = []uint64{1e6, 4e6}[i%2]
		r.Handovers = []uint64{9e5, 1e6}[i%2]
	}
	if ms := tableOf(t, run).Rows[0].Modes[0]; len(ms) != 2 || math.Abs(ms[0].Kept-0.1) > 1e-9 || math.Abs(ms[1].Kept-0.75) > 1e-9 {
		t.Errorf("%+v, want 10 %% and 75 %%", ms)
	}
}
