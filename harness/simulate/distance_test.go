//go:build systematic && simulate

package simulate

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFarAndNear compares the nearest and farthest copies with a full search, ties included.
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

func TestEventsInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var q events
	var want []event
	compare := func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) }
	for range 200 {
		for range rng.IntN(50) {
			e := event{at: rng.Int64N(20)}
			e.seq = q.push(e)
			want = append(want, e)
		}
		for n := rng.IntN(50); n > 0 && q.more(); n-- {
			at := q.next()
			got := q.pop()
			if least := slices.MinFunc(want, compare); got.seq != least.seq || at != got.at {
				t.Fatalf("%+v comes, at %d, want %+v", got, at, least)
			}
			want = slices.DeleteFunc(want, func(e event) bool { return e.seq == got.seq })
		}
		if q.more() != (len(want) > 0) {
			t.Fatalf("more is %t with %d events", q.more(), len(want))
		}
	}
}
