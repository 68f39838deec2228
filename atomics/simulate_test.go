//go:build systematic && simulate

package atomics

import "testing"

func TestRandom(t *testing.T) {
	seen := map[int]bool{}
	for range 1000 {
		seen[Random(3)] = true
	}
	if len(seen) != 3 || !seen[0] || !seen[1] || !seen[2] {
		t.Errorf("%v without a scheduler, want 0 to 2", seen)
	}
	var asked Access
	restore := SetScheduler(func(a Access) uint64 { asked = a; return 4 })
	got := Random(7)
	restore()
	if want := (Access{Op: OpRandom, New: 7}); got != 4 || asked != want {
		t.Errorf("%d by %+v, want 4 by %+v", got, asked, want)
	}
}
