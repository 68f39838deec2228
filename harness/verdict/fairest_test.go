package verdict

import (
	"testing"

	"locklab/harness/stat"
)

// TestFairest: fairness decides only where the intervals of two indices are known and
// part by more than fairStep.
func TestFairest(t *testing.T) {
	known := func(lo, hi float64) stat.Summary {
		return stat.Summary{Median: (lo + hi) / 2, Lo: lo, Hi: hi, N: 10, Confidence: 0.97}
	}
	few := known(20, 30)
	few.N, few.Confidence = 4, 0.87
	for _, c := range []struct {
		name string
		fair []stat.Summary
		want int
	}{
		{"close together", []stat.Summary{known(97, 97.5), known(97.5, 98)}, 2},
		{"as far apart as the step", []stat.Summary{known(92, 93), known(98, 99)}, 2},
		{"further", []stat.Summary{known(92, 92.9), known(98, 99)}, 1},
		{"medians apart, intervals not", []stat.Summary{known(40, 94), known(98, 99)}, 2},
		{"the middle one is not told from either", []stat.Summary{known(80, 84), known(86, 92), known(96, 99)}, 2},
		{"no interval", []stat.Summary{few, known(98, 99)}, 2},
		{"no index", []stat.Summary{{}, known(98, 99)}, 2},
		{"alone", []stat.Summary{known(30, 40)}, 1},
	} {
		var ties []candidate
		for _, f := range c.fair {
			ties = append(ties, candidate{fair: f})
		}
		if got := len(fairest(ties)); got != c.want {
			t.Errorf("%s: %d are among the fairest, want %d", c.name, got, c.want)
		}
	}
}
