package lab

import (
	"fmt"
	"regexp"
	"runtime"
	"testing"
	"time"

	"locklab/internal/stat"
)

// TestDefaultRounds: the default and Makefile plans have enough rounds on any machine.
func TestDefaultRounds(t *testing.T) {
	for _, flags := range []string{"", "--budget=2m10s", "--budget=5m", "--locks=all", "--locks=sync-mutex,mcs --workers=1,2"} {
		if p := requirePlan(t, optionsOf(t, flags)); p.Rounds < stat.MinRounds {
			t.Errorf("%q takes %d rounds", flags, p.Rounds)
		}
	}
}

// TestDefaultSituations: a default run has the cases of each situation that a report judges.
func TestDefaultSituations(t *testing.T) {
	cpus, seen := runtime.GOMAXPROCS(0), make(map[string]bool)
	for _, c := range requirePlan(t, optionsOf(t, "")).Cases {
		w := c.Workload
		seen[fmt.Sprintf("distributed %t, contended %t, more than CPUs %t, long hold %t, readers %t",
			c.Lock.Remote != nil, w.Workers > 1, w.Workers > cpus, w.Hold.Mean == defaultLongHold, w.Reads > 0)] = true
	}
	for _, want := range []string{"false, contended false, more than CPUs false, long hold false, readers false", "false, contended true, more than CPUs true, long hold false, readers false",
		"false, contended true, more than CPUs true, long hold true, readers false", "false, contended true, more than CPUs true, long hold false, readers true",
		"true, contended false, more than CPUs false, long hold false, readers false", "true, contended true, more than CPUs true, long hold false, readers false"} {
		if !seen["distributed "+want] {
			t.Errorf("no case is distributed %s", want)
		}
	}
}

var budgetRE = regexp.MustCompile(`(?m)^BUDGET +\?= *(\S+)$`)

// TestMakefileBudget: on two processors make report's budget suffices for two processes for each
// window.
func TestMakefileBudget(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	text := readFile(t, "../Makefile")
	m := budgetRE.FindStringSubmatch(text)
	if m == nil {
		t.Fatal("the Makefile has no BUDGET")
	}
	budget, err := time.ParseDuration(m[1])
	requireNoError(t, err)
	const start = 17 * time.Second // with the warm-up of ZooKeeper
	o := optionsOf(t, "--budget="+budget.String())
	p := requirePlan(t, o)
	if err := o.fit(p, budget-start-reportTime); err != nil || p.Every.Window != 2 || p.Rounds < roundsFor(2) {
		t.Errorf("%v give %d rounds, want %d, and windows in half of them (%v)", budget, p.Rounds, roundsFor(2), err)
	}
}
