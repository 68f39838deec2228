package lab

import (
	"slices"
	"testing"
	"time"

	"locklab/harness"
)

func TestWorkers(t *testing.T) {
	for cpus, want := range map[int][]int{1: {1, 2, 4, 8}, 2: {1, 2, 4, 8, 16}, 6: {1, 2, 4, 6, 12, 24, 48}, 16: {1, 2, 4, 8, 16, 32, 64, 128}} {
		if got := localWorkers(cpus); !slices.Equal(got, want) {
			t.Errorf("%d processors: %v, want %v", cpus, got, want)
		}
	}
}

func TestCasesAreDistinct(t *testing.T) {
	local := func(harness.Setup) harness.Local { return nil }
	locks := []*harness.Variant{
		{Name: "spin", Family: harness.Spin, Local: local},
		{Name: "one", Family: harness.Blocking, Local: local, Traits: harness.Traits{MaxWorkers: 1}},
		{Name: "far", Family: harness.Redis, Remote: nil, Traits: harness.Traits{Needs: harness.KindRedis}},
	}
	a := axes{workers: []int{1, 4}, hold: []harness.Span{{}, {Mean: time.Microsecond}},
		wait: []harness.WaitPolicy{harness.WaitAdaptive, harness.WaitYield}, pin: harness.Pins, gomaxprocs: []int{1, 2},
		reads: []int{0, 90}, spread: []int{1, 64}, gc: []bool{false, true}}
	seen := make(map[string]int)
	for _, c := range a.cases(locks, 2) {
		seen[c.Lock.Name]++
		if seen[c.Name()]++; seen[c.Name()] > 1 {
			t.Errorf("%s is planned twice", c.Name())
		}
	}
	// workers x hold x gomaxprocs x reads, for local locks x pin x spread x gc,
	// and wait for spin locks only
	if seen["spin"] != 2*2*2*3*8*2 || seen["one"] != 1*2*2*3*8 || seen["far"] != 2*2*2*2 {
		t.Errorf("%d cases of spin, %d of one, %d of far", seen["spin"], seen["one"], seen["far"])
	}
}
