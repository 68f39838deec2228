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
			c.Lock.Remote != nil, w.Workers > 1, w.Workers > cpus, longHeld(w), w.Reads > 0)] = true
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

// TestMakefileBudget: on two processors make report's budget suffices for the rounds, and
// equals its share of three minutes.
func TestMakefileBudget(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	text := readFile(t, "../Makefile")
	m := budgetRE.FindStringSubmatch(text)
	if m == nil {
		t.Fatal("the Makefile has no BUDGET")
	}
	budget, err := time.ParseDuration(m[1])
	requireNoError(t, err)
	const start = 3 * time.Second
	o := optionsOf(t, "--budget="+budget.String())
	p := requirePlan(t, o)
	if err := o.fit(p, budget-start-reportTime); err != nil || p.Rounds < stat.MinRounds {
		t.Errorf("%v give %d rounds, want %d (%v)", budget, p.Rounds, stat.MinRounds, err)
	}
	var whole, measured time.Duration
	for _, t := range parts {
		if whole += t.time; t.has != nil {
			measured += t.time
		}
	}
	if measured != budget || whole > 3*time.Minute {
		t.Errorf("the parts take %v, of these %v in the budget; the Makefile's is %v, and all together 3m", whole, measured, budget)
	}
}
