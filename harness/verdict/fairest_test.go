package verdict

import "testing"

// TestFairest: two indices that lie close together are alike wherever they lie.
func TestFairest(t *testing.T) {
	for _, c := range []struct {
		jain []float64
		want int
	}{
		{[]float64{97.4, 97.6}, 2},
		{[]float64{93, 98}, 2},
		{[]float64{92.9, 98}, 1},
		{[]float64{90, 95, 99}, 2},
		{[]float64{40}, 1},
	} {
		var ties []candidate
		for _, j := range c.jain {
			ties = append(ties, candidate{jain: j})
		}
		if got := len(fairest(ties)); got != c.want {
			t.Errorf("of %v %d are among the fairest, want %d", c.jain, got, c.want)
		}
	}
}
