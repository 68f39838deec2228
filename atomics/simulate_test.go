//go:build systematic && simulate

package atomics

import "testing"

func TestRandom(t *testing.T) {
	var asked Access
	restore := SetScheduler(func(a Access) uint64 { asked = a; return 4 })
	got := Random(7)
	restore()
	if want := (Access{Op: OpRandom, New: 7}); got != 4 || asked != want {
		t.Errorf("%d by %+v, want 4 by %+v", got, asked, want)
	}
}
