package page

import (
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/internal/synthetic"
)

func blocking(name string, rate float64) synthetic.Model {
	m := synthetic.Fast(name, rate)
	m.Lock.Family = harness.Blocking
	return m
}

func headlineOf(run *result.Run) string { return numfmt.Plain(Headline(judge.Decisions(run))) }

func TestHeadline(t *testing.T) {
	mutex := blocking("sync-mutex", 1e6)
	crossing := synthetic.Model{Lock: synthetic.Local("crossing", harness.Spin, harness.Correct), Handed: 0.5, Noise: 0.01, Skew: 9, Rate: func(w int) float64 {
		if w > 2 {
			return 2e6
		}
		return 5e5
	}}
	for _, c := range []struct {
		name   string
		rounds int
		models []synthetic.Model
		want   string
	}{
		{"the default", 10, []synthetic.Model{mutex, blocking("b", 5e5)}, "Inside one process use sync-mutex."},
		{"a faster lock", 10, []synthetic.Model{mutex, blocking("b", 2e6)}, "Inside one process use b (faster than sync-mutex)."},
		{"it depends", 10, []synthetic.Model{mutex, crossing},
			"Inside one process use sync-mutex without contention and with one worker per CPU; crossing with more workers than CPUs (faster than sync-mutex; unfair, its waiters poll)."},
		{"too few rounds", 3, []synthetic.Model{mutex, blocking("b", 2e6)}, "Inside one process: no recommendation: 3 of 6 rounds."},
		{"one lock", 10, []synthetic.Model{blocking("b", 2e6)}, "Inside one process: no recommendation: only b was measured."},
		{"without the default", 10, []synthetic.Model{blocking("b", 2e6), blocking("c", 1e6)},
			"Inside one process: no recommendation: sync-mutex was not measured; of 2 locks b is the fastest."},
		{"a broken lock", 10, []synthetic.Model{mutex, synthetic.With(blocking("b", 9e6), breaking), blocking("c", 5e5)}, "Inside one process use sync-mutex."},
		{"between processes", 10, []synthetic.Model{served("q", 900), served("p", 500)}, "Between processes use q (not tested for failures)."},
		{"both", 10, []synthetic.Model{mutex, blocking("b", 5e5), served("q", 900), served("p", 500)},
			"Inside one process use sync-mutex. Between processes use q (not tested for failures)."},
	} {
		if got := headlineOf(synthetic.Run(5, c.rounds, 2, []int{1, 2, 8}, c.models...)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestHeadlineOnClasses(t *testing.T) {
	run := synthetic.Run(1, 10, 2, []int{1, 8}, served("safe", 500), served("quick", 900))
	for _, name := range []string{"safe", "quick"} {
		seen := map[oracle.Anomaly]int{oracle.TwoHolders: 50}
		if name == "safe" {
			seen = nil
		}
		lock := served(name, 1).Lock
		run.Faults = append(run.Faults, synthetic.Fault("failover", lock, 200, 0, seen, result.Failover), synthetic.Fault("pause", lock, 200, 0, nil, result.Recovery))
	}
	got := headlineOf(run)
	if !strings.HasPrefix(got, "Between processes use safe (survives") || strings.Count(got, "the faster quick") != 1 || !strings.Contains(got, "; or, if ") {
		t.Errorf("got %q", got)
	}
	rows := answers(judge.Decisions(run))
	if len(rows) != 4 || rows[0].Use != "safe" || rows[1].Use != "quick" || !strings.Contains(rows[1].Why, "as fast as safe") || !strings.Contains(rows[1].Requirement, ", if ") {
		t.Errorf("rows %+v", rows)
	}
	if text := rows[0].Tolerates; !slices.ContainsFunc(text, func(x sign) bool { return x.Text == "failover (200 tries)" && x.Mark == "✓" }) {
		t.Errorf("tolerates %+v, want the number of tries", text)
	}
}

// TestTickNeedsTries: a tick needs 59 clean tries of each scenario, a bound of 5 %.
func TestTickNeedsTries(t *testing.T) {
	if stat.UpperBound(0, result.EnoughTries) > 0.05 || stat.UpperBound(0, result.EnoughTries-1) < 0.05 {
		t.Errorf("%d tries bound the share by %v", result.EnoughTries, stat.UpperBound(0, result.EnoughTries))
	}
	lock := synthetic.Served("safe", harness.Redis, "redis")
	for want, tries := range map[string][2]int{"✓": {59, 200}, "0/58": {200, 58}, "0/1": {1, 1}} {
		var fs []*result.FaultResult
		for i, n := range tries {
			fs = append(fs, synthetic.Fault("scenario-"+string(rune('a'+i)), lock, n, 0, nil, result.Failover))
		}
		got := tolerances(result.ClassOf(fs, "safe"))
		if i := slices.IndexFunc(got, func(x sign) bool { return strings.HasPrefix(x.Text, "failover") }); i < 0 || got[i].Mark != want {
			t.Errorf("%v tries: %+v, want %s", tries, got, want)
		}
	}
}

func TestPublishedTries(t *testing.T) {
	lock := synthetic.Served("safe", harness.Redis, "redis")
	run := &result.Run{Faults: []*result.FaultResult{synthetic.Fault("failover", lock, 1, 0, nil, result.Failover)}}
	more := synthetic.Fault("failover", lock, 60, 0, nil, result.Failover)
	more.Published = 60
	run.AddPublished([]*result.FaultResult{more}, "commit abc")
	want := sign{"✓", "failover (60 tries published, 1 here)"}
	if got := tolerances(result.ClassOf(run.Faults, "safe")); !slices.Contains(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := sources(run); !slices.Equal(got, []string{"Tried in this run.", "60 of the tries are of the campaign that is published with locklab (commit abc)."}) {
		t.Errorf("sources %q", got)
	}
}

func TestWhy(t *testing.T) {
	mutex := blocking("sync-mutex", 1e6)
	steady := func(m synthetic.Model) synthetic.Model { m.Noise = 0.001; return m }
	unfair := synthetic.With(blocking("fast", 2e6), func(m *synthetic.Model) { m.Skew, m.Lock.Traits.Handles = 30, true })
	for want, models := range map[string][]synthetic.Model{
		"the default; the other lock is not significantly faster by more than the tolerance (10 rounds)": {mutex, blocking("slow", 5e5)},
		"the default; near is 1.03x (1.03–1.03) as fast, which is within the tolerance (10 rounds)":      {steady(mutex), steady(blocking("near", 1.03e6))},
		"sync-mutex, the default; not shown to differ by more than the tolerance: fast (10 rounds)":      {mutex, unfair, blocking("also", 1.98e6)},
		"each worker needs a handle; not shown to differ by more than the tolerance: fast (10 rounds)":   {mutex, unfair, synthetic.With(blocking("also", 1.98e6), func(m *synthetic.Model) { m.Lock.Traits.Handles = true })},
		", the default, but unfair (Jain ": {mutex, unfair},
	} {
		rows := answers(judge.Decisions(synthetic.Run(5, 10, 2, []int{8}, models...)))
		if got := numfmt.Plain(rows[0].Why); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestMeaningFollowsWindows(t *testing.T) {
	const alone, taken, wait = "every CPU has a worker, no worker waits for a CPU", "as many workers as CPUs, of which others or a CPU limit took time in some windows", "workers wait for CPUs as well as for the lock"
	for name, c := range map[string]struct {
		edit    func(run *result.Run, last *harness.Result)
		meaning string
		setting string
	}{
		"quiet":             {func(*result.Run, *harness.Result) {}, alone, "2 workers on 2 CPUs"},
		"a CPU goes":        {func(_ *result.Run, r *harness.Result) { r.Noise.CPUs = 1 }, wait, "2 workers on 1 CPU"},
		"a limit comes":     {func(_ *result.Run, r *harness.Result) { r.Noise.Limit = 0.5 }, wait, "2 workers on 0.5 CPUs"},
		"a limit is there":  {func(run *result.Run, _ *harness.Result) { run.Manifest.Machine.CPULimit = 1.5 }, wait, "2 workers on 1.5 CPUs"},
		"a limit of enough": {func(run *result.Run, _ *harness.Result) { run.Manifest.Machine.CPULimit = 8 }, alone, "2 workers on 2 CPUs"},
		"other programs": {func(_ *result.Run, r *harness.Result) {
			r.Warnings = append(r.Warnings, harness.Warning{Kind: "others"})
		}, taken, "2 workers on 2 CPUs"},
	} {
		run := new(result.Run)
		run.Manifest.Machine.CPUs, run.Manifest.Machine.GOMAXPROCS = 2, 2
		for round := range 3 {
			run.Results = append(run.Results, &harness.Result{Lock: harness.Lock{Name: "x", Family: harness.Spin}, Round: round,
				Workload: harness.Workload{Workers: 2, Window: time.Second}, Noise: &harness.Noise{CPUs: 2}})
		}
		c.edit(run, run.Results[2])
		if rows := answers(judge.Decisions(run)); rows[0].Meaning != c.meaning || !strings.HasPrefix(rows[0].Setting, c.setting+",") {
			t.Errorf("%s: %q, %q, want %q, %q", name, rows[0].Meaning, rows[0].Setting, c.meaning, c.setting)
		}
	}
}
