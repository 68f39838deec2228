package lab

import (
	"errors"
	"fmt"
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
	a := axes{workers: []int{1, 4}, hold: []harness.Span{{}, {Mean: time.Microsecond}}, reads: []int{0, 90}, spread: []int{1, 64},
		section: []harness.Section{harness.SectionWork, harness.SectionMap, "lines:4"},
		scheduling: scheduling{wait: []harness.WaitPolicy{harness.WaitAdaptive, harness.WaitYield}, pin: harness.Pins,
			gomaxprocs: []int{1, 2}, gc: []bool{false, true}},
		siting:  siting{servers: []int{1, 3}, durable: []bool{false, true}, tls: []bool{false, true}, delay: []time.Duration{0, time.Millisecond}},
		loading: loading{rates: []harness.Rate{0, 500}, arrivals: harness.Arrivals, deadlines: []time.Duration{0, time.Second}}}
	seen := make(map[string]int)
	for _, c := range a.cases(locks, 2) {
		seen[c.Lock.Name]++
		if seen[c.Name()]++; seen[c.Name()] > 1 {
			t.Errorf("%s is planned twice", c.Name())
		}
	}
	// workers x hold x gomaxprocs x reads. For local locks also x pin x spread x gc x section,
	// and x wait for locks that follow it. For remote locks also x servers x durable x tls x
	// delay. All of these closed, and at a rate with both arrivals x deadlines.
	const loads = 1 + 2*2
	if seen["spin"] != 2*2*2*3*8*2*3*loads || seen["one"] != 1*2*2*3*8*3*loads || seen["far"] != 2*2*2*2*16*loads {
		t.Errorf("%d cases of spin, %d of one, %d of far", seen["spin"], seen["one"], seen["far"])
	}
}

// TestSectionIsGuarded: locks without shared memory keep their workload, and locks that
// cannot guard the data have no such case. Both are named.
func TestSectionIsGuarded(t *testing.T) {
	o := optionsOf(t, "--locks=mcs,seqlock,redis-queue --workers=2 --read=0,90 --section=work,map")
	p, err := o.plan()
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	for _, c := range p.Cases {
		seen[fmt.Sprintf("%s %s %d", c.Lock.Name, c.Workload.Section, c.Workload.Reads)]++
	}
	want := map[string]int{"mcs work 0": 1, "mcs work 90": 1, "mcs map 0": 1, "mcs map 90": 1, "seqlock work 0": 1, "seqlock work 90": 1, "seqlock map 0": 1,
		"redis-queue work 0": 1, "redis-queue work 90": 1}
	if !maps.Equal(seen, want) {
		t.Errorf("planned %v, want %v", seen, want)
	}
	said := strings.Join(o.unheeded(p), "\n")
	if want := "share no memory: redis-queue\nnot measured with --section and readers: seqlock, because its readers read while a writer writes"; !strings.HasSuffix(said, want) {
		t.Errorf("said %q", said)
	}
	o.section = nil
	if said := o.unheeded(p); said != nil {
		t.Errorf("without --section it said %q", said)
	}
}

// TestWaitIsFollowed: a lock that ignores the wait policy has no case of one, and is named.
func TestWaitIsFollowed(t *testing.T) {
	o := optionsOf(t, "--locks=tas,sync-mutex,chan --workers=2 --wait=spin,yield")
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
	if got := o.unheeded(p); len(got) != 1 || !strings.HasSuffix(got[0], ": chan, sync-mutex") {
		t.Errorf("said %q", got)
	}
	o.wait = nil
	if got := o.unheeded(p); got != nil {
		t.Errorf("without --wait it said %q", got)
	}
	o.locks, o.wait = "sync-mutex,chan", []harness.WaitPolicy{harness.WaitYield}
	if _, err := o.plan(); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), "follows --wait") {
		t.Errorf("got %v, want that no lock follows it", err)
	}
}
