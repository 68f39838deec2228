//go:build systematic && simulate

package simulate

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"locklab/atomics"
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
			for i := range m.Caches() {
				if l.copies.has(i) {
					caches = append(caches, i)
				}
			}
			if d, at := s.farthest(&l.copies, c); len(caches) == 0 && (d != sameCluster || at != c) {
				t.Fatalf("%s: %d at distance %d is the farthest of none from %d", m.Name, at, d, c)
			} else if len(caches) > 0 {
				far := slices.MaxFunc(caches, func(a, b int) int { return 1000*(s.m.distance(c, a)-s.m.distance(c, b)) + a - b })
				if at != far || d != s.m.distance(c, far) {
					t.Fatalf("%s: %d at distance %d is the farthest from %d of %v, want %d", m.Name, at, d, c, caches, far)
				}
				near := slices.MinFunc(caches, func(a, b int) int { return 1000*(s.m.distance(c, a)-s.m.distance(c, b)) + a - b })
				before := s.counts.Remote
				want := m.Shared[s.m.distance(c, near)] + s.detour(l, c, near)
				if got := s.nearest(l, c); got != want || s.counts.Remote-before != int64(s.m.distance(c, near)/otherSocket) {
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
		for n := rng.IntN(50); n > 0 && len(q.heap) > 0; n-- {
			at := q.heap[0].at
			got := q.pop()
			if least := slices.MinFunc(want, compare); got.seq != least.seq || at != got.at {
				t.Fatalf("%+v comes, at %d, want %+v", got, at, least)
			}
			want = slices.DeleteFunc(want, func(e event) bool { return e.seq == got.seq })
		}
		if len(q.heap) != len(want) {
			t.Fatalf("%d events remain, want %d", len(q.heap), len(want))
		}
	}
}

func TestChecker(t *testing.T) {
	for _, tc := range []struct {
		name  string
		wrong func(s *sim, l *line, a, b *core)
		want  string // "" if it is legal
	}{
		{"one owner", func(s *sim, l *line, a, b *core) { s.check.all() }, ""},
		{"the owner writes and reads", func(s *sim, l *line, a, b *core) { s.check.written(l, a); s.check.read(l, a); s.check.all() }, ""},
		{"copies", func(s *sim, l *line, a, b *core) {
			l.owner = none
			s.fill(l, b.cache)
			s.check.read(l, b)
			s.check.all()
		}, ""},
		{"a copy beside the owner", func(s *sim, l *line, a, b *core) { s.fill(l, b.cache); s.check.all() }, "line 0 has an owner, cache 0, beside 2 copies"},
		{"another one writes", func(s *sim, l *line, a, b *core) { s.check.written(l, b) }, "core 1 writes line 0, M or E at cache 0"},
		{"a write to a shared line", func(s *sim, l *line, a, b *core) { l.owner = none; s.fill(l, b.cache); s.check.written(l, a) }, "core 0 writes line 0, S in 2 caches"},
		{"an old copy", func(s *sim, l *line, a, b *core) { s.fill(l, b.cache); s.check.written(l, a); s.check.read(l, b) }, "core 1 reads version 0 of line 0, which has 1"},
		{"a request is forgotten", func(s *sim, l *line, a, b *core) { l.queue = []*request{{}}; s.check.all() }, "line 0 serves none of 1 requests"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSim(plainMachine(), 1)
			s.check = newProtocol(s)
			a, b := &core{s: s, id: 0, cache: 0}, &core{s: s, id: 1, cache: 1}
			l := &line{owner: 0}
			s.order = []*line{l}
			s.fill(l, 0)
			tc.wrong(s, l, a, b)
			switch {
			case tc.want == "" && s.failure != nil:
				t.Errorf("error %v of a state that is right", s.failure)
			case tc.want != "" && (s.failure == nil || !strings.Contains(s.failure.Error(), tc.want)):
				t.Errorf("error %v, want %q", s.failure, tc.want)
			}
		})
	}
}

// litmus has two cores that store, then load, with the outcomes of x86-TSO (Sewell et al.,
// CACM 53(7), 2010), at many distances in time, from any caches.
var litmus = []struct {
	name        string
	left, right func(w *words) (a, b uint64)
	allowed     func(la, lb, ra, rb uint64) bool
	seen        func(la, lb, ra, rb uint64) bool // must occur
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
							m := plainMachine()
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
	playParts(t, m,
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
