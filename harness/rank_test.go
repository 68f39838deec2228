package harness

import "testing"

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
