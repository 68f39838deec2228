package lab

import (
	"bytes"
	"regexp"
	"runtime"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/stat"
	"locklab/reports/page"
)

// measured returns equally fast results of every case of the default plan.
func measured(t *testing.T, o runOptions) (run *result.Run, rounds int) {
	t.Helper()
	p := requirePlan(t, o)
	run = &result.Run{Manifest: result.Manifest{Rounds: p.Rounds, Cases: len(p.Cases), Finished: time.Unix(1, 0),
		Machine: machine.Environment{OS: "linux", CPUs: 2, GOMAXPROCS: 2}}}
	for round := range p.Rounds {
		for _, c := range p.Cases {
			workers := make([]uint64, c.Workload.Workers)
			for i := range workers {
				workers[i] = 1000
			}
			n := uint64(1000 * len(workers))
			run.Results = append(run.Results, &harness.Result{Lock: c.Lock.Describe(), Workload: c.Workload, Round: round,
				Elapsed: time.Second, Ops: n, Workers: workers, Handovers: n, Overlap: 1})
		}
	}
	return run, p.Rounds
}

var fewRE = regexp.MustCompile(`no recommendation: \d+ of \d+ rounds`)

// TestDefaultRounds: the default and Makefile plans have enough rounds on any machine.
func TestDefaultRounds(t *testing.T) {
	for _, flags := range []string{"", "--budget=2m10s", "--budget=5m", "--locks=all", "--locks=sync-mutex,mcs --workers=1,2"} {
		o := optionsOf(t, flags)
		run, rounds := measured(t, o)
		text := verdictOf(t, run)
		if few := fewRE.FindString(text); few != "" || rounds < stat.MinRounds {
			t.Errorf("--locks %s takes %d rounds: %s", o.locks, rounds, few)
		}
		t.Logf("--locks %s: %d cases, %d rounds", o.locks, run.Manifest.Cases, rounds)
	}
	// With one round less than an interval needs, the report notes it.
	run, _ := measured(t, optionsOf(t, "--rounds=5"))
	requireContains(t, verdictOf(t, run), "no recommendation: 5 of 6 rounds")
}

func verdictOf(t *testing.T, run *result.Run) string {
	t.Helper()
	doc, err := page.Report(run)
	requireNoError(t, err)
	var out bytes.Buffer
	requireNoError(t, doc.Text(&out, 1000))
	return out.String()
}

func TestDefaultSituations(t *testing.T) {
	run, _ := measured(t, optionsOf(t, ""))
	requireContains(t, verdictOf(t, run), "Uncontended (", "More workers than CPUs (", "Long hold, more workers than CPUs (", "Mostly readers (", "Distributed, uncontended (", "Distributed, contended (")
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
