//go:build systematic && simulate

package simulate

import (
	"fmt"
	"testing"

	"locklab/atomics"
)

// litmus has two cores that store, then load, with the outcomes of x86-TSO (Sewell et al.,
// CACM 53(7), 2010), at many distances in time, from any caches.
var litmus = []struct {
	name    string
	left    func(w *words) (a, b uint64)
	right   func(w *words) (a, b uint64)
	allowed func(la, lb, ra, rb uint64) bool
	seen    func(la, lb, ra, rb uint64) bool // must occur
}{
	{"store buffering",
		func(w *words) (uint64, uint64) { w.x.StoreRelease(1); return w.y.Load(), 0 },
		func(w *words) (uint64, uint64) { w.y.StoreRelease(1); return w.x.Load(), 0 },
		func(la, _, ra, _ uint64) bool { return true },
		func(la, _, ra, _ uint64) bool { return la == 0 && ra == 0 }},
	{"store buffering with locked stores",
		func(w *words) (uint64, uint64) { w.x.Store(1); return w.y.Load(), 0 },
		func(w *words) (uint64, uint64) { w.y.Store(1); return w.x.Load(), 0 },
		func(la, _, ra, _ uint64) bool { return la == 1 || ra == 1 },
		func(la, _, ra, _ uint64) bool { return la == 1 && ra == 1 }},
	{"store buffering with a locked instruction between",
		func(w *words) (uint64, uint64) { w.x.StoreRelease(1); w.z.Add(1); return w.y.Load(), 0 },
		func(w *words) (uint64, uint64) { w.y.StoreRelease(1); w.z.Add(1); return w.x.Load(), 0 },
		func(la, _, ra, _ uint64) bool { return la == 1 || ra == 1 },
		func(la, _, ra, _ uint64) bool { return la == 1 && ra == 1 }},
	{"message passing",
		func(w *words) (uint64, uint64) { w.x.StoreRelease(1); w.y.StoreRelease(1); return 0, 0 },
		func(w *words) (uint64, uint64) { b := w.y.Load(); return w.x.Load(), b },
		func(_, _, ra, rb uint64) bool { return rb == 0 || ra == 1 },
		func(_, _, ra, rb uint64) bool { return rb == 0 && ra == 1 }},
	{"own stores are seen at once",
		func(w *words) (uint64, uint64) { w.x.StoreRelease(1); return w.x.Load(), w.y.Load() },
		func(w *words) (uint64, uint64) { w.y.StoreRelease(1); return w.y.Load(), w.x.Load() },
		func(la, _, ra, _ uint64) bool { return la == 1 && ra == 1 },
		func(_, lb, _, rb uint64) bool { return lb == 0 && rb == 0 }},
}

func TestLitmus(t *testing.T) {
	for _, tc := range litmus {
		t.Run(tc.name, func(t *testing.T) {
			seen, n := map[string]int{}, 0
			for _, reach := range []float64{0, 20} {
				for _, thread := range []int{1, 2, 4} {
					for warm := range 16 {
						for gap := -120; gap <= 120; gap += 3 {
							m := plain()
							m.Reach, m.Jitter = reach, 0.1
							la, lb, ra, rb := litmusRun(t, m, thread, warm, float64(gap), tc.left, tc.right)
							n++
							seen[fmt.Sprintf("%d%d %d%d", la, lb, ra, rb)]++
							if !tc.allowed(la, lb, ra, rb) {
								t.Fatalf("reach %v, thread %d, warm %b, gap %d ns: %d %d and %d %d", reach, thread, warm, gap, la, lb, ra, rb)
							}
							if tc.seen(la, lb, ra, rb) {
								seen["wanted"]++
							}
						}
					}
				}
			}
			t.Logf("%v of %d", seen, n)
			if seen["wanted"] == 0 {
				t.Errorf("what the model must show was not seen in %d runs", n)
			}
		})
	}
}

// litmusRun runs the programs gap ns apart; each bit of warm is one word read before.
func litmusRun(t *testing.T, m *Machine, thread, warm int, gap float64, left, right func(*words) (a, b uint64)) (la, lb, ra, rb uint64) {
	touch := func(a *actor, at float64, w *atomics.Uint64, bit int) {
		if a.at(at); warm&bit != 0 {
			w.Load()
		}
	}
	play(t, m,
		part{0, func(a *actor, w *words) {
			touch(a, 300, &w.x, 1)
			touch(a, 600, &w.y, 2)
			a.at(2000)
			la, lb = left(w)
		}},
		part{thread, func(a *actor, w *words) {
			touch(a, 900, &w.x, 4)
			touch(a, 1200, &w.y, 8)
			a.at(2000 + gap)
			ra, rb = right(w)
		}})
	return la, lb, ra, rb
}
