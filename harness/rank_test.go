package harness

import (
	"strings"
	"testing"
)

func TestShare(t *testing.T) {
	for _, test := range []struct{ workers, ranks int }{{1, 0}, {8, 1}, {8, 4}, {9, 4}, {11, 4}, {5000, 7}} {
		w := Workload{Workers: test.workers, Ranks: test.ranks, Clients: test.workers, Rate: 100}
		next, clients, least, most := 0, 0, test.workers, 0
		rate := Rate(0)
		for rank := range max(1, test.ranks) {
			first, n := w.Share(rank)
			if first != next {
				t.Errorf("%v: rank %d begins at worker %d, not %d", test, rank, first, next)
			}
			p := w.Part(rank)
			if p.Workers != n {
				t.Errorf("%v: rank %d has %d workers and drives %d", test, rank, n, p.Workers)
			}
			next, clients, rate = next+n, clients+p.Clients, rate+p.Rate
			least, most = min(least, n), max(most, n)
		}
		if next != test.workers || clients != test.workers || most > least+1 || rate < 99.999 || rate > 100.001 {
			t.Errorf("%v: %d workers, %d clients, rate %v, %d to %d a rank", test, next, clients, rate, least, most)
		}
	}
}

func TestRanksRejected(t *testing.T) {
	ok := Workload{Workers: 8, Ranks: 4, Window: 1}
	for _, test := range []struct {
		name string
		of   func(w *Workload)
		want string // "" accepts
	}{
		{"ranks", func(*Workload) {}, ""},
		{"uneven", func(w *Workload) { w.Workers = 9 }, ""},
		{"many", func(w *Workload) { w.Workers = 5000 }, ""},
		{"too many for one", func(w *Workload) { w.Workers, w.Ranks = 5000, 1 }, "workers is 5000"},
		{"fewer workers", func(w *Workload) { w.Workers = 3 }, "workers is 3: want one for each of the 4 ranks"},
		{"fewer clients", func(w *Workload) { w.Clients = 2 }, "clients is 2"},
		{"negative", func(w *Workload) { w.Ranks = -1 }, "ranks is -1"},
		{"too many", func(w *Workload) { w.Ranks = MaxRanks + 1 }, "ranks is 1025"},
		{"even", func(w *Workload) { w.Rate, w.Arrivals = 10, Even }, "--arrivals"},
	} {
		w := ok
		test.of(&w)
		err := w.Validate()
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}
