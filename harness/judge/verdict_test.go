package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/synthetic"
)

func TestSituations(t *testing.T) {
	for _, c := range []struct {
		cpus    int
		workers []int
		want    string
	}{
		{2, []int{1, 2, 4, 64}, "uncontended 1, one worker per CPU 2, more workers than CPUs 64"},
		{8, []int{1, 2, 4, 8}, "uncontended 1, a few workers 2, one worker per CPU 8"},
		{8, []int{3, 4, 16}, "a few workers 3, up to one worker per CPU 4, more workers than CPUs 16"},
		{1, []int{1, 2}, "uncontended 1, more workers than CPUs 2"},
		{0, []int{1, 2, 4}, "uncontended 1, contended 4"},
		{4, []int{1}, "uncontended 1"},
	} {
		run := synthetic.Run(1, 1, c.cpus, c.workers, synthetic.Fast("a", 1e6))
		got := result.Each(situations(Groups(run)[0]), func(s Situation) string { return fmt.Sprint(s.Name(), " ", s.Workers) })
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%d CPUs, workers %v: got %q, want %q", c.cpus, c.workers, got, c.want)
		}
	}
}

func TestExclusions(t *testing.T) {
	run := synthetic.Run(1, 4, 2, []int{1, 2},
		synthetic.With(synthetic.Fast("bad", 1e6), func(m *synthetic.Model) { m.Breaks = true }), synthetic.Fast("good", 1e6), synthetic.With(synthetic.Fast("old", 1e6), withStatus(harness.Historical)))
	got := Exclusions(run)
	if len(got) != 2 || got[0].Lock.Name != "bad" || got[1].Lock.Name != "old" {
		t.Fatalf("got %+v, want bad and old", got)
	}
	if x := got[0]; x.Violated != 2 || x.Results != 8 || x.Violation == nil || x.Violation.Rule != "exclusion" {
		t.Errorf("got %+v, want 2 of 8 results with a violation of exclusion", x)
	}
	for _, g := range Groups(run) {
		for _, s := range g.Series {
			if s.Lock.Name == "bad" {
				t.Error("a lock with a violation is drawn")
			}
		}
	}
}

func TestViolationsAreNeverRecommended(t *testing.T) {
	run := synthetic.Run(3, 10, 2, []int{1, 2, 8}, synthetic.Fast("a", 9e6), synthetic.Fast("b", 2e6), synthetic.Fast(DefaultBaseline, 1e6))
	other := synthetic.Run(4, 1, 2, []int{2}, synthetic.Fast("a", 9e6)).Results[0]
	other.Workload.Think.Mean = time.Millisecond
	other.Violations = []oracle.Violation{{Rule: "exclusion", Detail: "seen", Count: 1}}
	run.Results = append(run.Results, other)
	for _, d := range Decisions(run) {
		if d.Use != "b" || d.Fastest != "b" || slices.Contains(d.Ties, "a") {
			t.Errorf("%s: use %q, fastest %q, ties %q", d.Situation.Name(), d.Use, d.Fastest, d.Ties)
		}
	}
}

// TestMainSituationsOfServers: only the servers that differ most join the default ones.
func TestMainSituationsOfServers(t *testing.T) {
	served := func(seed uint64, set func(w *harness.Workload)) []*result.Result {
		run := synthetic.Run(seed, 1, 2, []int{1, 8}, synthetic.Model{Lock: synthetic.Served("q", harness.Redis, "redis"), Rate: synthetic.Constant(900)})
		for _, r := range run.Results {
			set(&r.Workload)
		}
		return run.Results
	}
	run := synthetic.Run(1, 1, 2, []int{1}, synthetic.Fast("a", 1e6))
	far := served(2, func(w *harness.Workload) { w.Delay = time.Millisecond })
	farthest := served(3, func(w *harness.Workload) { w.Delay, w.Servers, w.Durable = time.Millisecond, 3, true })
	names := func(ss []Situation) (out []string) {
		for _, s := range ss {
			if s.Distributed() {
				out = append(out, s.Name())
			}
		}
		return out
	}
	run.Results = append(append(run.Results, far...), farthest...)
	first := MainSituations(Groups(run))
	want := []string{"distributed, 3 durable servers 1ms away, uncontended", "distributed, 3 durable servers 1ms away, contended"}
	if got := names(first); !slices.Equal(got, want) {
		t.Errorf("without the default: %q, want %q", got, want)
	}
	run.Results = append(run.Results, served(4, func(*harness.Workload) {})...)
	first = MainSituations(Groups(run))
	want = []string{"distributed, uncontended", "distributed, contended", "distributed, 3 durable servers 1ms away, contended"}
	if got := names(first); !slices.Equal(got, want) {
		t.Errorf("with the default: %q, want %q", got, want)
	}
}

func TestMainSituations(t *testing.T) {
	run := synthetic.Run(1, 1, 2, []int{1, 2, 8}, synthetic.Fast("a", 1e6), synthetic.Fast("b", 1e6))
	run.Results = append(run.Results, setHold(synthetic.Run(2, 1, 2, []int{1, 2, 8}, synthetic.Fast("a", 1e6)), time.Microsecond, 0)...)
	run.Results = append(run.Results, setHold(synthetic.Run(3, 1, 2, []int{1, 2, 8}, synthetic.Fast("a", 1e6)), 10*time.Microsecond, 0)...)
	run.Results = append(run.Results, setHold(synthetic.Run(4, 1, 2, []int{2, 8}, synthetic.Fast("a", 1e6)), 100*time.Nanosecond, 90)...)
	run.Results = append(run.Results, synthetic.Run(5, 1, 2, []int{1, 8}, synthetic.Model{Lock: synthetic.Served("q", harness.Redis, "redis"), Rate: synthetic.Constant(900)}).Results...)
	names := func(ss []Situation) string {
		return strings.Join(result.Each(ss, Situation.Name), "; ")
	}
	first := MainSituations(Groups(run))
	if got, want := names(first), "uncontended; one worker per CPU; more workers than CPUs; long hold, more workers than CPUs; mostly readers; distributed, uncontended; distributed, contended"; got != want {
		t.Errorf("first\n%s, want\n%s", got, want)
	}
	// A long hold alone is the only row.
	first = MainSituations(Groups(&result.Run{Manifest: run.Manifest, Results: setHold(synthetic.Run(3, 1, 2, []int{1, 2, 8}, synthetic.Fast("a", 1e6)), time.Millisecond, 0)}))
	if got := names(first); strings.Count(got, "long hold") != 3 {
		t.Errorf("a long hold alone: %s", got)
	}
}
