package page

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/internal/require"
	"locklab/internal/stat"
	"locklab/internal/synthetic"
)

func blockingModel(name string, rate float64) synthetic.Model {
	m := synthetic.Fast(name, rate)
	m.Lock.Family = harness.Blocking
	return m
}

func requireContains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func headlineOf(run *result.Run) string { return numfmt.Plain(plainHeadline(run)) }

func TestHeadline(t *testing.T) {
	mutex := blockingModel("sync-mutex", 1e6)
	crossing := synthetic.Model{Lock: synthetic.Local("crossing", harness.Spin, harness.Correct), Handed: 0.5, Noise: 0.01, Skew: 9,
		Rate: func(w int) float64 { return 5e5 + 1.5e6*float64(w/8) }} // workers are 1, 2 and 8
	for _, c := range []struct {
		name   string
		rounds int
		models []synthetic.Model
		want   string
	}{
		{"the default", 10, []synthetic.Model{mutex, blockingModel("b", 5e5)}, "Inside one process use sync-mutex."},
		{"a faster lock", 10, []synthetic.Model{mutex, blockingModel("b", 2e6)}, "Inside one process use b (among the fastest)."},
		{"it depends", 10, []synthetic.Model{mutex, crossing},
			"Inside one process use sync-mutex without contention and with one worker per CPU; crossing with more workers than CPUs (among the fastest; unfair, its waiters poll)."},
		{"too few rounds", 3, []synthetic.Model{mutex, blockingModel("b", 2e6)}, "Inside one process there is no recommendation: 3 of 6 rounds."},
		{"one lock", 10, []synthetic.Model{blockingModel("b", 2e6)}, "Inside one process there is no recommendation: only b was measured."},
		{"without the default", 10, []synthetic.Model{blockingModel("b", 2e6), blockingModel("c", 1e6)},
			"Inside one process there is no recommendation: sync-mutex was not measured; of 2 locks b is the fastest."},
		{"a broken lock", 10, []synthetic.Model{mutex, synthetic.With(blockingModel("b", 9e6), breakPromise), blockingModel("c", 5e5)}, "Inside one process use sync-mutex."},
		{"between processes", 10, []synthetic.Model{remoteModel("q", 900), remoteModel("p", 500)}, "Between processes use q (not tested for failures; one server grants it)."},
		{"both", 10, []synthetic.Model{mutex, blockingModel("b", 5e5), remoteModel("q", 900), remoteModel("p", 500)},
			"Inside one process use sync-mutex. Between processes use q (not tested for failures; one server grants it)."},
	} {
		require.Equal(t, c.name, headlineOf(synthetic.Run(5, c.rounds, 2, []int{1, 2, 8}, c.models...)), c.want)
	}
}

func TestHeadlineOnClasses(t *testing.T) {
	run := synthetic.Run(1, 10, 2, []int{1, 8}, remoteModel("safe", 500), remoteModel("quick", 900), remoteModel("quickest", 2000))
	for _, name := range []string{"safe", "quick", "quickest"} {
		seen := map[oracle.Anomaly]int{oracle.TwoHolders: 50}
		if name == "safe" {
			seen = nil
		}
		lock := remoteModel(name, 1).Lock
		lock.Traits.Fenced = name == "quick"
		for guarantee, seen := range map[result.Guarantee]map[oracle.Anomaly]int{result.Failover: seen, result.Fencing: nil, result.Recovery: nil} {
			run.Faults = append(run.Faults, synthetic.Fault(string(guarantee), lock, 200, 0, seen, guarantee))
		}
	}
	got := headlineOf(run)
	if !strings.HasPrefix(got, "Between processes use safe (tolerates") || strings.Count(got, "the faster quick.") != 1 || !strings.Contains(got, "; or, if ") {
		t.Errorf("got %q", got)
	}
	rows := answers(judge.Decisions(run))
	if len(rows) != 6 || rows[0].Use != "safe" || rows[1].Use != "quick" || !strings.Contains(rows[1].Why, "as fast as safe") || !strings.Contains(rows[1].Requirement, ", if ") || rows[2].Use != "quickest" {
		t.Errorf("rows %+v", rows)
	}
	for _, r := range run.Results {
		if r.Workload.Workers > 1 && r.Lock.Name != "safe" {
			r.Elapsed *= 10
		}
	}
	if got := headlineOf(run); !strings.Contains(got, "; or without contention, if ") {
		t.Errorf("got %q, but quick is slower under contention", got)
	}
	for _, r := range run.Results {
		r.Warnings = []machine.Warning{{Kind: "steal"}}
	}
	if poor := headlineOf(run); strings.Contains(poor, "quick") {
		t.Errorf("a poor run: %q, want the strongest class alone", poor)
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

// TestPublishedTries: a guarantee has the counts of the scenario tried least, or of one that broke it,
// those of the campaign apart, with one bound. A brief page has no violations without one.
func TestPublishedTries(t *testing.T) {
	run := synthetic.Run(1, 10, 2, []int{8}, remoteModel("safe", 900), remoteModel("loses", 500))
	for lock, seen := range map[string]map[oracle.Anomaly]int{"safe": nil, "loses": {oracle.TwoHolders: 60}} {
		least := synthetic.Fault("killed", remoteModel(lock, 1).Lock, 60, 0, seen, result.Failover)
		least.Published = result.Campaign{Tries: 60, Seen: seen}
		run.AddPublished([]*result.FaultResult{least, synthetic.Fault("stopped", least.Lock, 200, 0, nil, result.Failover)}, "commit abc")
		run.Faults = result.AddFault(run.Faults, synthetic.Fault("killed", least.Lock, 1, 0, nil, result.Failover))
	}
	page, whole := htmlOf(t, Brief(run, "details.html")), htmlOf(t, Report(run))
	if strings.Contains(page, "Violations") || strings.Contains(whole, "None.") || !strings.Contains(whole, "0 of 20 windows of 2 locks, with ") {
		t.Error("a page without a violation has more than their number in the measured windows")
	}
	text := numfmt.Plain(page + strings.Join(strings.Fields(jsonOf(t, run)), " "))
	requireContains(t, text, "published 0 of 60, here 0 of 1 (at most 4.8 %)", "published 60 of 60 failed, here 0 of 1 (at most 99.9 %)",
		`"scenario": "killed", "failed": 0, "tries": 61, "published_failed": 0, "published": 60, "bound": 0.0479`,
		`"scenario": "killed", "failed": 60, "tries": 61, "published_failed": 60, "published": 60, "bound": 0.999`)
	if got := sources(run); !slices.Equal(got, []string{"Tried in this run.", "120 of the tries are published with locklab (commit abc)."}) {
		t.Errorf("sources %q", got)
	}
}

func TestWhy(t *testing.T) {
	mutex := blockingModel("sync-mutex", 1e6)
	steady := func(m synthetic.Model) synthetic.Model { m.Noise = 0.001; return m }
	unfair := synthetic.With(blockingModel("fast", 2e6), func(m *synthetic.Model) { m.Skew, m.Lock.Traits.Handles = 30, true })
	for want, models := range map[string][]synthetic.Model{
		"the default; the other lock is not significantly faster by more than the tolerance (10 rounds)": {mutex, blockingModel("slow", 5e5)},
		"the default; near is 1.03x (1.03–1.03) as fast, which is within the tolerance (10 rounds)":      {steady(mutex), steady(blockingModel("near", 1.03e6))},
		"sync-mutex, the default; not shown to differ by more than the tolerance: fast (10 rounds)":      {mutex, unfair, blockingModel("also", 1.98e6)},
		"each worker needs a handle; not shown to differ by more than the tolerance: fast (10 rounds)":   {mutex, unfair, synthetic.With(blockingModel("also", 1.98e6), func(m *synthetic.Model) { m.Lock.Traits.Handles = true })},
		"faster at a higher price, but not shown to be 1.25x as fast: fast (10 rounds)":                  {steady(mutex), steady(unfair), steady(blockingModel("also", 1.8e6))},
		"1.20x (1.20–1.20) as fast as sync-mutex, the default, but its waiters poll (10 rounds)":         {steady(mutex), steady(blockingModel("equal", 1e6)), steady(synthetic.Fast("spin", 1.2e6))},
		"cheaper than spin, which is":      {mutex, synthetic.With(blockingModel("varies", 1.6e6), func(m *synthetic.Model) { m.Noise = 0.4 }), synthetic.Fast("spin", 2e6)},
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
		edit             func(run *result.Run, last *result.Result)
		meaning, setting string
	}{
		"quiet":             {func(*result.Run, *result.Result) {}, alone, "2 workers on 2 CPUs"},
		"a CPU goes":        {func(_ *result.Run, r *result.Result) { r.Noise.CPUs = 1 }, wait, "2 workers on 1 CPU"},
		"a limit comes":     {func(_ *result.Run, r *result.Result) { r.Noise.Limit = 0.5 }, wait, "2 workers on 0.5 CPUs"},
		"a limit is there":  {func(run *result.Run, _ *result.Result) { run.Manifest.Machine.CPULimit = 1.5 }, wait, "2 workers on 1.5 CPUs"},
		"a limit of enough": {func(run *result.Run, _ *result.Result) { run.Manifest.Machine.CPULimit = 8 }, alone, "2 workers on 2 CPUs"},
		"other programs":    {func(_ *result.Run, r *result.Result) { r.Warnings = []machine.Warning{{Kind: "others"}} }, taken, "2 workers on 2 CPUs"},
	} {
		run := new(result.Run)
		run.Manifest.Machine.CPUs, run.Manifest.Machine.GOMAXPROCS = 2, 2
		for round := range 3 {
			run.Results = append(run.Results, &result.Result{Lock: result.Lock{Name: "x", Family: harness.Spin}, Round: round,
				Workload: harness.Workload{Workers: 2, Window: time.Second}, Noise: &machine.Noise{CPUs: 2}})
		}
		c.edit(run, run.Results[2])
		if rows := answers(judge.Decisions(run)); rows[0].Meaning != c.meaning || !strings.HasPrefix(rows[0].Setting, c.setting+",") {
			t.Errorf("%s: %q, %q, want %q, %q", name, rows[0].Meaning, rows[0].Setting, c.meaning, c.setting)
		}
	}
}

func TestTableText(t *testing.T) {
	mutex, same := synthetic.Fast(judge.DefaultBaseline, 1e6), synthetic.Fast("same", 1e6)
	noisy := synthetic.With(synthetic.Fast("wild", 1.05e6), func(m *synthetic.Model) { m.Noise = 0.3 })
	gentle := synthetic.With(synthetic.Fast("gentle", 1.99e6), func(m *synthetic.Model) { m.Lock.Family = harness.Blocking })
	broken := synthetic.With(synthetic.Fast("wrong", 9e6), withStatus(harness.Broken), breakPromise)
	for _, c := range []struct {
		name   string
		rounds int
		models []synthetic.Model
		want   []string
	}{
		{"faster and slower", 12, []synthetic.Model{mutex, synthetic.Fast("fast", 2e6), synthetic.Fast("slow", 2.5e5)},
			[]string{"fast", "*", "slow", "M/s", "fast is ", "slow is 0.25x", "2 of 2 differences with sync-mutex are significant with 8 workers.", "n = 12 rounds (each lock in 12 to 24 blocks; far slower ones in fewer)."}},
		{"the same", 12, []synthetic.Model{mutex, same}, []string{"=", "No lock differs significantly from sync-mutex with 8 workers."}},
		{"noise", 12, []synthetic.Model{mutex, noisy, synthetic.Fast("slow", 2.5e5)}, []string{"1 of 2 differences with sync-mutex is significant with 8 workers."}},
		{"the recommended lock is not the fastest", 12, []synthetic.Model{mutex, synthetic.Fast("fast", 2e6), gentle, synthetic.Fast("slow", 2.5e5)},
			[]string{"gentle is 2", "slow is 0.25x", "3 of 3 differences"}},
		{"three rounds", 3, []synthetic.Model{mutex, same}, []string{"n=3", "n = 3 rounds"}},
		{"broken", 12, []synthetic.Model{mutex, same, broken}, []string{"wrong (broken) !", "! wrong (broken) violated exclusion in 2 of 24 results, so it has no speed."}},
		{"alone", 12, []synthetic.Model{same}, []string{"throughput as a ratio to same"}},
	} {
		run := synthetic.Run(7, c.rounds, 2, []int{1, 8}, c.models...)
		for _, r := range run.Results { // a name of four letters has one block a round
			r.Blocks = &result.Blocks{Elapsed: []int64{1, int64(len(r.Lock.Name) - 4)}}
		}
		for form, text := range formsOf(t, Report(run)) {
			if c.rounds < stat.MinRounds && strings.Contains(text, "differs significantly") {
				t.Errorf("%s: the %s judges %d rounds", c.name, form, c.rounds)
			}
			text = numfmt.Plain(strings.NewReplacer("\\", "", "&#43;", "+").Replace(strings.Join(strings.Fields(text), " ")))
			requireContains(t, text, c.want...)
		}
	}
}

func TestAgree(t *testing.T) {
	made := func(seed uint64, noise, a, b float64) *result.Run {
		noisy := func(m *synthetic.Model) { m.Noise = noise }
		return synthetic.Run(seed, 12, 2, []int{1}, synthetic.With(blockingModel("sync-mutex", a), noisy), synthetic.With(blockingModel("b", b), noisy))
	}
	var alike, split []*result.Run
	for seed := range uint64(10) {
		alike = append(alike, made(seed, 0.01, 2e6, 1e6))
		split = append(split, alike[seed])
		if seed < 2 {
			split[seed] = made(seed, 0.01, 1e6, 2e6)
		}
	}
	nine := append([]*result.Run{split[0]}, alike[1:]...)
	for _, c := range []struct {
		name string
		runs []*result.Run
		want bool
		says string
	}{
		{"alike", alike, true, "sync-mutex: 10"},
		{"one differs", nine, true, "sync-mutex: 9, b: 1"},
		{"two differ", split, false, "sync-mutex: 8, b: 2 FAILED"},
		{"large differences without significance", []*result.Run{made(1, 3, 2e6, 1e6)}, false, "FAILED: less than 90 % of these"},
		{"one run", alike[:1], true, "headline 1 of 1 "},
		{"a row is missing", append([]*result.Run{synthetic.Run(1, 12, 2, []int{1, 2}, blockingModel("sync-mutex", 1e6))}, alike[1:]...), false, "1 of 10"},
	} {
		var out strings.Builder
		if agree, err := WriteAgreement(&out, c.runs, 0.9, 0.9); err != nil || agree != c.want || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), c.says) {
			t.Errorf("%s: %v, error %v, want %v and %q in\n%s", c.name, agree, err, c.want, c.says, out.String())
		}
	}
	if _, err := WriteAgreement(new(strings.Builder), []*result.Run{{}}, 0.9, 0.9); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("an empty run: %v, want a usage error", err)
	}
}
