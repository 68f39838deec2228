//go:build systematic && simulate

package simulate_test

import (
	"fmt"
	"slices"
	"testing"

	"locklab/harness"
	"locklab/harness/simulate"
	"locklab/spinlock/lab"
)

func large(t testing.TB) *simulate.Machine {
	m := machine(t)
	m.Sockets, m.Cores = 4, 16
	return m
}

var oneWaiter = []string{"twa", "anderson", "mcs", "k42", "clh", "hapax", "hemlock", "reciprocating", "fissile"}

// TestEvents limits the events per acquisition: a few for each polling waiter, none in a
// queue.
func TestEvents(t *testing.T) {
	m := large(t)
	locks(t, 64, func(t *testing.T, v *harness.Variant) {
		w := section(64)
		r, err := simulate.Run(m, w, v.Local)
		if err != nil {
			t.Fatal(err)
		}
		most := 7 * w.Workers
		if slices.Contains(oneWaiter, v.Name) {
			most = 3 * w.Workers / 2
		}
		n := int(r.Steps) / (r.Turns + w.Warm)
		if t.Logf("%d events an acquisition", n); n > most || n == 0 {
			t.Errorf("%d events an acquisition among %d workers, want at most %d", n, w.Workers, most)
		}
	})
}

// BenchmarkSimulate times one run of a lock with one seed, on a machine of 256 hardware
// threads.
//
//	go test -tags systematic,simulate -run '^$' -bench Simulate ./harness/simulate
func BenchmarkSimulate(b *testing.B) {
	m := large(b)
	for _, workers := range []int{8, 64, 256} {
		for _, v := range lab.Suite {
			if v.Status == harness.Broken || simulate.CheckVariant(v, workers) != nil {
				continue
			}
			b.Run(fmt.Sprintf("lock=%s/workers=%d", v.Name, workers), func(b *testing.B) {
				w := simulate.Workload{Workers: workers, Lines: 1, Hold: 10, Think: 10, Wait: harness.WaitPause, Seed: 1}
				var events, turns float64
				for b.Loop() {
					r, err := simulate.Run(m, w, v.Local)
					if err != nil {
						b.Fatal(err)
					}
					events, turns = events+float64(r.Steps), turns+float64(r.Turns)
				}
				b.ReportMetric(events/turns, "events/acq")
			})
		}
	}
}
