package stat

import "testing"

func TestJain(t *testing.T) {
	for _, c := range []struct {
		xs   []int
		want float64
	}{{nil, 0}, {[]int{0, 0}, 0}, {[]int{7, 7, 7}, 1}, {[]int{0, 0, 9, 0}, 0.25}, {[]int{1, 3}, 0.8}} {
		if got := Jain(c.xs); got != c.want {
			t.Errorf("Jain(%v) = %v, want %v", c.xs, got, c.want)
		}
	}
}
