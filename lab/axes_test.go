package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/site"
)

func TestWorkers(t *testing.T) {
	for _, c := range []struct {
		scope  scope
		remote bool
		cpus   int
		want   []int
	}{
		{allWorkers, false, 1, []int{1, 2, 4, 8}},
		{allWorkers, false, 2, []int{1, 2, 4, 8, 16}},
		{allWorkers, false, 6, []int{1, 2, 4, 6, 12, 24, 48}},
		{fewWorkers, false, 6, []int{1, 6, 48}},
		{briefWorkers, false, 6, []int{1, 48}},
		{allWorkers, true, 6, []int{1, 2, 8, 16, 64}},
		{fewWorkers, true, 6, []int{1, 16}},
		{briefWorkers, true, 6, []int{8}},
	} {
		if got := c.scope.defaultWorkers(c.remote, c.cpus); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
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

// TestUnvaried: a lock that ignores an axis keeps its workload, and a lock that cannot guard the
// data has no such case. Both are named.
func TestUnvaried(t *testing.T) {
	for _, c := range []struct {
		flags string
		want  map[string]int // lock, section, reads, wait policy
		said  string
	}{
		{"--locks=mcs,seqlock,redis-queue --read=0,90 --section=work,map", map[string]int{
			"mcs work 0 adaptive": 1, "mcs work 90 adaptive": 1, "mcs map 0 adaptive": 1, "mcs map 90 adaptive": 1, "seqlock work 0 adaptive": 1, "seqlock work 90 adaptive": 1,
			"seqlock map 0 adaptive": 1, "redis-queue work 0 adaptive": 1, "redis-queue work 90 adaptive": 1},
			"share no memory: redis-queue\nskipping seqlock with section=map read=90: its readers read while a writer writes\n"},
		{"--locks=tas,sync-mutex,chan --wait=spin,yield", map[string]int{"tas work 0 spin": 1, "tas work 0 yield": 1, "sync-mutex work 0 adaptive": 1, "chan work 0 adaptive": 1},
			": chan, sync-mutex\n"},
		{"--locks=tas", map[string]int{"tas work 0 adaptive": 1}, ""},
	} {
		o := optionsOf(t, "--workers=2 "+c.flags)
		p := requirePlan(t, o)
		var said strings.Builder
		fmt.Fprintln(&said, strings.Join(o.unheeded(p), "\n"))
		printSkipped(&said, site.Drop(p, site.Unfit))
		seen := make(map[string]int)
		for _, x := range p.Cases {
			seen[fmt.Sprintf("%s %s %d %s", x.Lock.Name, x.Workload.Section, x.Workload.Reads, x.Workload.Wait)]++
		}
		if !maps.Equal(seen, c.want) {
			t.Errorf("%s: planned %v, want %v", c.flags, seen, c.want)
		}
		if !strings.HasSuffix(said.String(), c.said) || (said.String() == "\n") != (c.said == "") {
			t.Errorf("%s: printed %q, want %q", c.flags, said.String(), c.said)
		}
	}
	requireRefusals(t, "run", []refusal{
		{"--locks sync-mutex,chan --wait yield", "follows --wait"},
		{"--locks seqlock --workers 1 --read 90 --section map", "nothing is left to measure: its readers read while a writer writes"},
	})
}
