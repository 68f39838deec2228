//go:build systematic && simulate

package atomics

import "testing"

// TestPoller: the poller, if there is one, answers PollWhile of both sizes in its bounds.
func TestPoller(t *testing.T) {
	var w32 Uint32
	var w64 Uint64
	type asked struct {
		w Word
		v uint64
		n int
	}
	var got []asked
	restore := SetPoller(func(w Word, v uint64, n int) (uint64, int) {
		got = append(got, asked{w, v, n})
		return 5, 3
	})
	for _, n := range []int{0, 7, 65} {
		if last, found := w32.PollWhile(1, n); last != 5 || found != 3 {
			t.Errorf("%d polls of 32 bits: %d, %d, want 5, 3", n, last, found)
		}
		if last, found := w64.PollWhile(1<<40, n); last != 5 || found != 3 {
			t.Errorf("%d polls of 64 bits: %d, %d, want 5, 3", n, last, found)
		}
	}
	restore()
	for i, n := range []int{1, 7, 64} {
		if len(got) != 6 || got[2*i] != (asked{word32(&w32.v), 1, n}) || got[2*i+1] != (asked{word64(&w64.v), 1 << 40, n}) {
			t.Fatalf("%+v: want %d polls of both words", got, n)
		}
	}
	calls := 0
	defer SetScheduler(func(a Access) uint64 { calls++; return atOnce(a) })()
	if last, found := w32.PollWhile(0, 3); last != 0 || found != 3 || calls != 6 {
		t.Errorf("without a poller %d, %d and %d calls of the scheduler, want 0, 3, 6", last, found, calls)
	}
}

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
