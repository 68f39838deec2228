//go:build systematic && simulate

package simulate

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFarAndNear: the nearest copy and the farthest one, of two that are as far the
// first and the last, are those of a search through all.
func TestFarAndNear(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, m := range List() {
		s := newSim(m, 1)
		for range 400 {
			l, c := &line{}, rng.IntN(m.Caches())
			for range rng.IntN(1 + min(m.Caches(), 1+rng.IntN(40))) {
				l.copies.add(rng.IntN(m.Caches()))
			}
			l.copies.remove(c)
			var caches []int
			l.copies.each(func(i int) { caches = append(caches, i) })
			if d, at := s.farthest(&l.copies, c); len(caches) == 0 && (d != sameCluster || at != c) {
				t.Fatalf("%s: %d at distance %d is the farthest of none from %d", m.Name, at, d, c)
			} else if len(caches) > 0 {
				far := slices.MaxFunc(caches, func(a, b int) int { return 1000*(s.distance(c, a)-s.distance(c, b)) + a - b })
				if at != far || d != s.distance(c, far) {
					t.Fatalf("%s: %d at distance %d is the farthest from %d of %v, want %d", m.Name, at, d, c, caches, far)
				}
				near := slices.MinFunc(caches, func(a, b int) int { return 1000*(s.distance(c, a)-s.distance(c, b)) + a - b })
				before := s.counts.Remote
				want := m.Shared[s.distance(c, near)] + s.detour(l, c, near)
				if got := s.nearest(l, c); got != want || s.counts.Remote-before != int64(s.distance(c, near)/otherSocket) {
					t.Fatalf("%s: %v ns from the nearest to %d of %v, want %v from %d", m.Name, got, c, caches, want, near)
				}
			}
		}
	}
}

// TestEventsInOrder: events come by time, and by number at the same time.
func TestEventsInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var q events
	for range 200 {
		for range rng.IntN(50) {
			q.push(event{at: rng.Int64N(20)})
		}
		var last event
		for n := rng.IntN(len(q.heap) + 1); n > 0; n-- {
			rest := slices.Clone(q.heap)
			last = q.pop()
			for _, e := range rest {
				if e.before(&last) {
					t.Fatalf("%+v comes before %+v", last, e)
				}
			}
		}
	}
}
