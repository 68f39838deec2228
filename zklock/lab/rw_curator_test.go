package lab

import (
	"testing"

	"locklab/zklock/internal/recipe"
)

// TestObstacles checks the writer that each reader in a line waits for by Curator's rule.
func TestObstacles(t *testing.T) {
	for _, test := range []struct {
		line string
		want []int // of readers
	}{
		{"R", []int{-1}},
		{"RRR", []int{-1, -1, -1}},
		{"WRR", []int{-1, 0, 0}},
		{"RWRWR", []int{-1, 0, 1, 2, 1}},
		{"WWWR", []int{-1, 0, 1, 0}},
	} {
		var line []recipe.Place
		for _, r := range test.line {
			line = append(line, recipe.Place{Kind: map[rune]string{'R': readKind, 'W': writeKind}[r]})
		}
		for i, p := range line {
			if p.Kind == writeKind {
				continue
			}
			if got := firstWrite(line, i); got != test.want[i] {
				t.Errorf("%s: the first writer ahead of %d is %d, want %d", test.line, i, got, test.want[i])
			}
		}
	}
}
