package lab

import (
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness/result"
)

// TestResumeDamaged: an unreadable line is reported, and its case is measured again.
func TestResumeDamaged(t *testing.T) {
	t.Parallel()
	cmd := locklab(t, least()...)
	requireSuccess(t, cmd)
	name := filepath.Join(cmd.Dir, "run", result.ResultsName)
	writeFile(t, name, strings.Replace(readFile(t, name), `"schema":1`, `"schema":99`, 1))
	again := locklabIn(t, cmd.Dir, "run", "--resume", "--out", "run")
	requireSuccess(t, again, "1 of 2 were measured before\n1 line of results.jsonl cannot be read, so the missing results are measured again; the first: line 1 was skipped: ")
	if run := requireRun(t, filepath.Join(cmd.Dir, "run")); len(run.Results) != 2 {
		t.Errorf("%d results, want 2", len(run.Results))
	}
}

// TestTooFewRounds: too few rounds are reported before the measurement.
func TestTooFewRounds(t *testing.T) {
	for flags, want := range map[string]string{
		"--rounds=5": "5 rounds cannot give an interval or a recommendation: leave out --rounds, or give 6 or more",
		"--rounds=6": "",
		"":           "",
	} {
		p := requirePlan(t, optionsOf(t, "--locks=tas --workers=1 "+flags))
		if got := tooFewRounds(p); got != want {
			t.Errorf("%s: %q, want %q", flags, got, want)
		}
	}
}
