package result

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
)

func fault() *FaultResult {
	return &FaultResult{
		Scenario: "holder-pause", Question: "What if a holder pauses?", Fault: "SIGSTOP", Source: "a book",
		Tests:    []Guarantee{Fencing},
		Lock:     Lock{Name: "redis-lock", Doc: "x", Family: harness.Redis, Traits: harness.Traits{Needs: "redis", Fenced: true}},
		Expected: Expectation{Anomalies: []oracle.Anomaly{oracle.TwoHolders}, Why: "the lease ends"},
		Skipped:  "no", Seed: 7, Started: time.Date(2026, 11, 21, 1, 2, 3, 4, time.UTC), Elapsed: time.Second, Interrupted: true,
		Tries: 20, Seen: map[oracle.Anomaly]int{oracle.TwoHolders: 15, oracle.TokenFell: 2}, Failed: 1, Starved: 2,
		Together: []Together{{Anomalies: []oracle.Anomaly{oracle.TwoHolders}, Tries: 13}, {Anomalies: []oracle.Anomaly{oracle.TwoHolders, oracle.TokenFell}, Tries: 2}},
		Window:   []int64{5, 6}, Notice: []int64{-7}, Overlap: []int64{8},
		Figures:   []FaultFigure{{Name: "requests", Unit: "1", Values: []float64{1.5, 2}}},
		Aims:      []FaultAim{{Figure: "window", Quantile: 0.5, Least: true, Limit: 3, Text: "not much"}},
		Histories: []string{"histories/a.jsonl"}, Notes: []string{"noisy"},
	}
}

func writeFaults(t *testing.T, dir string, faults ...*FaultResult) *Run {
	t.Helper()
	w := createRun(t, dir, Manifest{Command: []string{"locklab", "chaos"}, Commit: "abc"})
	for _, f := range faults {
		requireNoError(t, w.Append(Record{Fault: f}))
	}
	finishRun(t, w)
	run, err := Load(dir)
	if err != nil || len(run.Damage) > 0 {
		t.Fatalf("damage %q (%v)", run.Damage, err)
	}
	return run
}

func TestFaultsAddUp(t *testing.T) {
	root := t.TempDir()
	tried, other := fault(), fault()
	tried.Skipped, other.Skipped = "", ""
	other.Lock.Name = "zk-lock"
	run := writeFaults(t, filepath.Join(root, "a"), fault(), tried, other, tried)
	if len(run.Faults) != 2 || run.Faults[0].Tries != 40 || run.Faults[0].Failed != 3 || run.Faults[0].Seen[oracle.TwoHolders] != 30 || run.Faults[1].Tries != 20 {
		t.Fatalf("the lines add up to %+v", run.Faults)
	}
	more := writeFaults(t, filepath.Join(root, "b"), tried)
	run.AddFaults(more)
	if len(run.Faults) != 2 || run.Faults[0].Tries != 60 || more.Faults[0].Tries != 20 {
		t.Errorf("with those of another run there are %d tries; that has %d", run.Faults[0].Tries, more.Faults[0].Tries)
	}
	if len(run.Chaos) != 1 || run.Chaos[0].Dir != filepath.Join(root, "b") || run.Chaos[0].Commit != "abc" || run.Chaos[0].Faults != 1 {
		t.Errorf("they come from %+v", run.Chaos)
	}
	files := Each(run.Faults[0].Histories, run.HistoryFile)
	a, b := filepath.Join(root, "a", "histories", "a.jsonl"), filepath.Join(root, "b", "histories", "a.jsonl")
	if !slices.Equal(files, []string{a, a, b}) {
		t.Errorf("histories %q", files)
	}
	if name := more.Faults[0].Histories[0]; name != "histories/a.jsonl" {
		t.Errorf("the other run was changed: %q", name)
	}
}
