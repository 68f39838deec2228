package zklock

import (
	"testing"

	"locklab/zklock/internal/recipe"
)

func TestPlaces(t *testing.T) {
	line := places([]string{
		"_c_x-__WRIT__0000000004", "foreign", "_c_y-__READ__0000000002", "_c_z-__READ__0000000003",
		"_c_w-__WRIT__0000000001", "_c_v-lock-0000000000", "_c_u-__READ__--00000000",
	}, readKind, writeKind)
	var got string
	for _, p := range line {
		got += p.Name[3:4]
	}
	if got != "wyzx" {
		t.Errorf("the order is %q, want wyzx", got)
	}
	// The counter wraps around at 32 bits.
	line = places([]string{"_c_b-lock--2147483648", "_c_c-lock--2147483647", "_c_a-lock-2147483647"}, "lock-")
	if len(line) != 3 || line[0].Name[3] != 'a' || line[1].Name[3] != 'b' {
		t.Errorf("across the greatest number the order is %v", line)
	}
	line = places([]string{"_c_d-lock-0000000000", "_c_c-lock--000000001", "clock-0000000000"}, "lock-")
	if len(line) != 2 || line[0].Name[3] != 'c' {
		t.Errorf("across zero the order is %v", line)
	}
}

// TestObstacles checks for every reader in a line the writer that it waits for.
func TestObstacles(t *testing.T) {
	for _, test := range []struct {
		line string
		want []int // of readers; writers wait for the one ahead
	}{
		{"R", []int{-1}},
		{"RRR", []int{-1, -1, -1}},
		{"WRR", []int{-1, 0, 0}},
		{"RWRWR", []int{-1, 0, 1, 2, 3}},
		{"WWWR", []int{-1, 0, 1, 2}},
	} {
		var line []recipe.Place
		for _, r := range test.line {
			line = append(line, recipe.Place{Kind: map[rune]string{'R': readKind, 'W': writeKind}[r]})
		}
		for i, p := range line {
			if p.Kind == writeKind {
				continue
			}
			if got := lastWrite(line, i); got != test.want[i] {
				t.Errorf("%s: the nearest writer ahead of %d is %d, want %d", test.line, i, got, test.want[i])
			}
		}
	}
}
