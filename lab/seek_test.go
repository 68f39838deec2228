package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
)

// TestSeek interrupts a run that searched its rates. It resumes with the same rates,
// without another search, to the end, and its report is about the saturation point.
func TestSeek(t *testing.T) {
	skipIfShort(t)
	checkApart(t)
	const rounds = 3
	cmd, said, before := startSearch(t, rounds)
	for n := 0; n < 4 && (len(before.Saturations) != 1 || len(before.Saturations[0].Rates) == 0); n++ { // a busy machine may find none
		cmd, said, before = startSearch(t, rounds)
	}
	dir := filepath.Join(cmd.Dir, "run")
	if n := len(before.Saturations); n != 1 || before.Saturations[0].Missing != "" {
		t.Fatalf("%d saturation points: %+v", n, before.Saturations)
	}
	k := before.Saturations[0]
	if before.Cases != 1+len(k.Rates) || !strings.Contains(said, "saturation point of lock=sync-mutex/workers=4/hold=50µs/rate=auto: between ") {
		t.Errorf("%d cases at the rates %v after %d probes; it said %s", before.Cases, k.Rates, len(k.Trials), said)
	}
	again := locklabIn(t, cmd.Dir, "run", "--resume", "--out", "run")
	if _, stderr := requireSuccess(t, again); strings.Contains(stderr, "looking for") {
		t.Fatalf("it searches again: %s", stderr)
	}
	run := checkOnce(t, dir, before.Cases, rounds)
	if after := run.Manifest.Saturations; len(after) != 1 || !slices.Equal(after[0].Rates, k.Rates) {
		t.Errorf("the rates were %v, and are %+v", k.Rates, after)
	}
	for _, r := range run.Results {
		if r.Workload.Rate != 0 && !slices.Contains(k.Rates, r.Workload.Rate) {
			t.Errorf("it measured at %v, not at one of %v", r.Workload.Rate, k.Rates)
		}
	}
	requireContains(t, readFile(t, filepath.Join(dir, detailsName)), "saturation point") // or why a busy machine gives none
}

func startSearch(t *testing.T, rounds int) (cmd *exec.Cmd, said string, m result.Manifest) {
	t.Helper()
	cmd = locklab(t, "run", "--locks", "sync-mutex", "--hold", "50us", "--rate", "closed,auto", "--workers", "4", "--rounds", strconv.Itoa(rounds), "--duration", "40ms", "--seed", "5", "--out", "run")
	said, _ = interruptAfter(t, cmd, 2, measuredLine, os.Interrupt)
	m, err := result.ReadManifest(filepath.Join(cmd.Dir, "run"))
	if err != nil {
		t.Fatalf("%v: it said %s", err, said)
	}
	return cmd, said, m
}

// TestSeekInterrupt: Ctrl-C in the first probe prints one line. Such a run is not resumed.
func TestSeekInterrupt(t *testing.T) {
	t.Parallel()
	cmd := locklab(t, "run", "--locks", "sync-mutex", "--rate", "auto", "--rounds", "2", "--duration", "2s", "--out", "run")
	said, status := interruptAfter(t, cmd, 1, "looking for", os.Interrupt)
	if lines := strings.Split(said, "\n"); status != exitInterrupted || len(lines) != 3 || !strings.HasPrefix(said, "looking for the saturation point of 1 case, about ") ||
		lines[1] != "interrupted: run has no rates yet; search again with --replace" {
		t.Errorf("exit status %d, said %q", status, said)
	}
	m, err := result.ReadManifest(filepath.Join(cmd.Dir, "run"))
	if err != nil || !m.Interrupted || m.Finished.IsZero() || m.Saturations != nil {
		t.Errorf("the manifest is %+v: %v", m, err)
	}
	requireAbsent(t, filepath.Join(cmd.Dir, "run", reportName))
	again := locklabIn(t, cmd.Dir, "run", "--resume", "--out", "run")
	requireRefusal(t, again, "start the run again with --replace")
}

// TestSeekBroken: a lock that violates a promise during the search is measured at that
// load, and the run fails.
func TestSeekBroken(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector sees what the lock fails to prevent")
	}
	t.Parallel()
	cmd := locklab(t, "run", "--locks", "busted-tas", "--rate", "auto", "--rounds", "1", "--duration", "300ms", "--out", "run")
	_, stderr, status := runCommand(t, cmd)
	run := requireRun(t, filepath.Join(cmd.Dir, "run"))
	if ks := run.Manifest.Saturations; status != exitFailed || len(ks) != 1 || !strings.HasPrefix(ks[0].Broken, "exclusion: ") || len(ks[0].Rates) != 1 ||
		len(run.Results) != 1 || run.Results[0].Workload.Rate != ks[0].Rates[0] || !strings.Contains(stderr, "busted-tas violated exclusion") {
		t.Errorf("exit status %d, saturation points %+v, %d results, said %s", status, ks, len(run.Results), stderr)
	}
}

func TestSeekWords(t *testing.T) {
	c := measure.Case{Lock: &harness.Variant{Name: "x"}, Workload: harness.Workload{Workers: 64}, Sought: true}
	k := result.Saturation{Lock: "x", Workload: harness.Workload{Workers: 64, Servers: 3, Delay: time.Millisecond},
		Rest: 171.3, RestP99: 1.25e6, UpTo: 1713, Over: 1871.4, Rule: result.LimitP99, Rates: []harness.Rate{180, 1800}}
	for _, step := range []struct {
		edit func()
		want string
	}{
		{func() {}, "saturation point of lock=x/workers=64/hold=0s/rate=auto: between 1.7k/s and 1.9k/s p99 of the waits exceeds 10 times the unloaded p99, 1.25 ms at 170/s; measured at 180/s, 1.8k/s"},
		{func() { k.Rule = result.LimitGranted }, "saturation point of lock=x/workers=64/hold=0s/rate=auto: between 1.7k/s and 1.9k/s it falls behind: it grants less than 95 % of the requests; measured at 180/s, 1.8k/s"},
		{func() { k.Missing, k.Rates = "was not acquired once", nil }, "no saturation point of lock=x/workers=64/hold=0s/rate=auto: it was not acquired once"},
	} {
		step.edit()
		if got := found(c, k); got != step.want {
			t.Errorf("said %q, want %q", got, step.want)
		}
	}
	skipped := unsaturated([]result.Saturation{{Lock: "y", Rates: []harness.Rate{1}}, k})
	if len(skipped) != 1 || skipped[0].Name() != "x with rate=auto workers=64 servers=3 delay=1ms" || skipped[0].Reason != "it has no saturation point: it was not acquired once" {
		t.Errorf("skipped %+v", skipped)
	}
}

// TestSeekPlanned: each lock has one search case with enough workers, within the budget.
func TestSeekPlanned(t *testing.T) {
	o := optionsOf(t, "--locks=mcs,redis-queue,peterson --rate=closed,auto,500/s --deadline=10ms")
	p := requirePlan(t, o)
	names := result.Each(p.Cases, func(c measure.Case) string { return strings.TrimPrefix(c.Name(), "lock=") })
	n := autoLocalWorkers * runtime.GOMAXPROCS(0)
	for _, want := range []string{"redis-queue/workers=64/hold=0s", "redis-queue/workers=64/deadline=10ms/hold=0s/rate=auto", "redis-queue/workers=64/rate=500-per-s/deadline=10ms/hold=0s",
		"mcs/workers=" + strconv.Itoa(n) + "/deadline=10ms/hold=100ns/rate=auto",
		"peterson/workers=2/deadline=10ms/hold=100ns/rate=auto"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not planned, but %q", want, names)
		}
	}
	o.budget = 2 * time.Minute
	p = requirePlan(t, o)
	with := p.Estimate()
	rounds := p.Rounds
	p.Rounds = 0
	if search := p.Estimate(); search < with/20 || with > o.budget || with < o.budget/2 {
		t.Errorf("a run of %v, of which the search takes %v and %d rounds the rest, in a budget of %v", with, search, rounds, o.budget)
	}
	exe := executable(t)
	requireRefusal(t, locklab(t, "compare", "--interleave", exe, exe, "--locks", "tas", "--rate", "auto"), "finds rates for one build")
}

// TestSeekPlannedAgain: a run resumes at its manifest's rates, and without rates not at all.
func TestSeekPlannedAgain(t *testing.T) {
	o := optionsOf(t, "--locks=sync-mutex,redis-queue,redis-poll --workers=4 --rate=closed,auto --out=run")
	load := harness.Workload{Workers: 4, Locks: 1, Hold: harness.Span{Mean: defaultHold}}
	m := result.Manifest{Rounds: 7, Window: 30 * time.Millisecond,
		Skipped:     []result.Skip{{Lock: "redis-queue", Reason: "no server"}, {Lock: "redis-poll", Reason: "it has no saturation point", Conditions: "rate=auto workers=4"}},
		Saturations: []result.Saturation{{Lock: "sync-mutex", Workload: load, Rates: []harness.Rate{1e5, 2e5}}, {Lock: "redis-poll", Workload: harness.Workload{Workers: 4}, Missing: "was not acquired once"}}}
	p, err := o.planAgain(m)
	requireNoError(t, err)
	got := result.Each(p.Cases, func(c measure.Case) string {
		return fmt.Sprintf("%s %v %v", c.Lock.Name, c.Workload.Rate, c.Workload.Window)
	})
	slices.Sort(got)
	if want := []string{"redis-poll closed 100ms", "sync-mutex 100k/s 30ms", "sync-mutex 200k/s 30ms", "sync-mutex closed 100ms"}; !slices.Equal(got, want) || p.Rounds != 7 {
		t.Errorf("%d rounds of %q, want 7 of %q", p.Rounds, got, want)
	}
	unfound := []result.Saturation{{Lock: "sync-mutex", Workload: load, Missing: "was not acquired once"}}
	only := optionsOf(t, "--locks=sync-mutex --workers=4 --rate=auto --out=run")
	if _, err := only.planAgain(result.Manifest{Rounds: 7, Saturations: unfound}); err == nil || !strings.Contains(err.Error(), "nothing is left to measure: the saturation point of sync-mutex was not found: it was not acquired once") {
		t.Errorf("without any rate: %v", err)
	}
	m.Saturations = m.Saturations[1:]
	if _, err := o.planAgain(m); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), "no rates are known for lock=sync-mutex/workers=4/hold=100ns/rate=auto") {
		t.Errorf("without its rates: %v", err)
	}
}
