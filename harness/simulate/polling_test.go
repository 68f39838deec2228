//go:build systematic && simulate

package simulate_test

import (
	"slices"
	"testing"

	"locklab/harness"
	"locklab/harness/simulate"
	"locklab/spinlock/lab"
)

// TestPolls: batched polls change no figure and no number of events.
func TestPolls(t *testing.T) {
	base := section(12)
	for _, change := range []func(m *simulate.Machine, w *simulate.Workload){
		func(m *simulate.Machine, w *simulate.Workload) {},
		func(m *simulate.Machine, w *simulate.Workload) { w.Hold, w.Think, w.Apart = 300, 500, true },
		func(m *simulate.Machine, w *simulate.Workload) { m.SMT, m.Sibling, w.Hold = 2, 1.6, 150 },
		func(m *simulate.Machine, w *simulate.Workload) { w.Exact = true },
		func(m *simulate.Machine, w *simulate.Workload) { w.Wait = harness.WaitSpin },
	} {
		m, w := machine(t), base
		w.Turns, w.Warm = 300, 30
		change(m, &w)
		locks(t, w.Workers, func(t *testing.T, v *harness.Variant) {
			got, err := simulate.Run(m, w, v.Local)
			want, errWant := simulate.RunSingle(m, w, v.Local)
			if got != want || err != nil || errWant != nil {
				t.Errorf("%+v: %+v, %v, and one by one %+v, %v", w, got, err, want, errWant)
			}
		})
	}
}

func TestAllocations(t *testing.T) {
	w := section(32)
	w.Turns, w.Warm = 4000, 100
	i := slices.IndexFunc(lab.Suite, func(v *harness.Variant) bool { return v.Name == "ticket" })
	var r simulate.Result
	n := testing.AllocsPerRun(1, func() {
		var err error
		if r, err = simulate.Run(large(t), w, lab.Suite[i].Local); err != nil {
			t.Fatal(err)
		}
	})
	if n > float64(r.Turns)/2 || r.Misses < 10 {
		t.Errorf("%.0f allocations for %d acquisitions with %.0f misses each", n, r.Turns, r.Misses)
	}
}
