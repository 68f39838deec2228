package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness/result"
)

// TestResumeDamaged: an unreadable line is reported, and its case is measured again.
func TestResumeDamaged(t *testing.T) {
	t.Parallel()
	cmd := locklab(t, leastArgs()...)
	requireSuccess(t, cmd)
	name := filepath.Join(cmd.Dir, "run", result.ResultsName)
	writeFile(t, name, strings.Replace(readFile(t, name), `"schema":1`, `"schema":99`, 1))
	again := locklabIn(t, cmd.Dir, "run", "--resume", "--out", "run")
	requireSuccess(t, again, "1 of 2 were measured before\n1 line of results.jsonl cannot be read, so the missing results are measured again; the first: line 1 was skipped: ")
	if run := requireRun(t, filepath.Join(cmd.Dir, "run")); len(run.Results) != 2 {
		t.Errorf("%d results, want 2", len(run.Results))
	}
}

// TestManyDamaged: many unreadable lines are counted, on the command line and in a report.
func TestManyDamaged(t *testing.T) {
	drawApart(t)
	dir := smallRun(t)
	name := filepath.Join(dir, result.ResultsName)
	writeFile(t, name, readFile(t, name)+strings.Repeat("{\"schema\":1,\n", 3000))
	_, stderr := requireStatus(t, 0, []string{"export", dir}, ": 2995 more lines cannot be read\n")
	stdout, _ := requireStatus(t, 0, []string{"report", dir}, "3000 lines of the file damaged")
	for _, text := range []string{stderr, stdout, readFile(t, filepath.Join(dir, reportName))} {
		if n := strings.Count(text, "was skipped"); n != 5 {
			t.Errorf("%d lines are shown, want 5", n)
		}
	}
	requireNoError(t, os.Remove(name))
	requireNoError(t, os.Mkdir(name, 0o755))
	requireRefusals(t, "report "+dir, []refusal{{"", "results.jsonl is not a regular file"}})
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
