//go:build systematic && simulate

package lab

import (
	"slices"
	"testing"

	"locklab/harness"
	"locklab/harness/simulate"
)

// TestMutexSimulated compares Mutex with a model of sync.Mutex on modelled machines.
//
//	go test -tags systematic,simulate -run TestMutexSimulated -v ./mutex/lab
func TestMutexSimulated(t *testing.T) {
	ourMutex := Suite[slices.IndexFunc(Suite, func(v *harness.Variant) bool { return v.Name == "mutex" })]
	for _, name := range []string{"icelake-2x32", "skylake-8x32"} {
		m, err := simulate.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, hold := range []float64{0, 100, 1000} {
			under := func(workers int, v *harness.Variant) simulate.Result {
				r, err := simulate.Run(m, simulate.Workload{Workers: workers, Lines: 1, Hold: hold, Think: 50, Wait: harness.WaitPause, Seed: 1, Acquisitions: 200 * workers}, v.Local)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			few := under(8, ourMutex)
			for _, workers := range []int{64, 128} {
				ours, theirs := under(workers, ourMutex), under(workers, syncMutex)
				t.Logf("%s, %d workers, %v ns: %.0f ns (8 workers: %.0f), sync.Mutex %.0f ns, ratio %.2f; Jain %.2f, %.2f; longest wait %.0f µs, %.0f µs", name, workers, hold,
					ours.PerAcquisition, few.PerAcquisition, theirs.PerAcquisition, theirs.PerAcquisition/ours.PerAcquisition, ours.Jain, theirs.Jain, ours.Longest/1000, theirs.Longest/1000)
				t.Logf("the next owner is another worker: %.0f %%, of them on another socket: %.0f %%; a handover takes %.0f ns, with 8 workers %.0f ns",
					100*(1-ours.SameWorker), 100*(1-ours.SameSocket), ours.HandOver, few.HandOver)
				if ours.PerAcquisition > 2*few.PerAcquisition {
					t.Errorf("%s, %v ns: %.0f ns with %d workers, %.0f ns with 8: the rate collapses", name, hold, ours.PerAcquisition, workers, few.PerAcquisition)
				}
			}
		}
	}
}
