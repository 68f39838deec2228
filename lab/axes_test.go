package lab

import (
	"errors"
	"maps"
	"slices"
	"strings"
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
		{Name: "spin", Family: harness.Spin, Local: local, Traits: harness.Traits{FollowsWait: true}},
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
	// and wait for locks that follow it only
	if seen["spin"] != 2*2*2*3*8*2 || seen["one"] != 1*2*2*3*8 || seen["far"] != 2*2*2*2 {
		t.Errorf("%d cases of spin, %d of one, %d of far", seen["spin"], seen["one"], seen["far"])
	}
}

// TestWaitIsFollowed: a lock that does not claim to follow the wait policy is not
// measured under one, and is named.
func TestWaitIsFollowed(t *testing.T) {
	o := runOptions{program: program(), locks: "tas,sync-mutex,chan", workers: "2", wait: "spin,yield"}
	p, err := o.plan()
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	for _, c := range p.Cases {
		seen[c.Lock.Name+" "+c.Workload.Wait.String()]++
	}
	want := map[string]int{"tas spin": 1, "tas yield": 1, "sync-mutex adaptive": 1, "chan adaptive": 1}
	if !maps.Equal(seen, want) {
		t.Errorf("planned %v, want %v", seen, want)
	}
	if got := o.unheeded(p); !strings.HasSuffix(got, ": chan, sync-mutex") {
		t.Errorf("said %q", got)
	}
	o.wait = ""
	if got := o.unheeded(p); got != "" {
		t.Errorf("without --wait it said %q", got)
	}
	o.locks, o.wait = "sync-mutex,chan", "yield"
	if _, err := o.plan(); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), "follows --wait") {
		t.Errorf("got %v, want that no lock follows it", err)
	}
}
