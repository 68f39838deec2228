package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/stat"
)

func interleaveArgs(old, new string, more ...string) []string {
	return append([]string{"compare", "--interleave", old, new, "--locks", "ticket", "--workers", "1", "--metric", "cpu",
		"--rounds", "12", "--duration", "30ms", "--out", "pair"}, more...)
}

func TestInterleave(t *testing.T) {
	if raceEnabled {
		t.Skip("it is about processes, which the race detector makes slow and does not look into; TestInterleaveInterrupt runs under it")
	}
	t.Parallel()
	same, slow := testBuilds(t)
	cmd := locklab(t, interleaveArgs(same, slow)...)
	stdout, _ := requireOutcome(t, cmd, exitFailed, "t-test", "REGRESSED: lock=ticket")
	old, new := filepath.Join(cmd.Dir, "pair", "old"), filepath.Join(cmd.Dir, "pair", "new")
	var runs [2]*result.Run
	for i, dir := range []string{old, new} {
		run := requireRun(t, dir)
		if m := run.Manifest; len(run.Results) != 12 || m.Pair == "" || m.Interrupted || m.Finished.IsZero() || m.Rounds != 12 || m.Overhead.Loop == 0 {
			t.Errorf("%d results, %+v", len(run.Results), m)
		}
		runs[i] = run
	}
	requireSuccess(t, locklab(t, "report", new))
	if runs[0].Manifest.Pair != runs[1].Manifest.Pair {
		t.Error("the two runs do not know each other")
	}
	if again, _ := requireOutcome(t, locklab(t, "compare", old, new, "--metric", "cpu"), exitFailed); again != stdout {
		t.Errorf("printed\n%s\nwant\n%s", again, stdout)
	}

	// A second comparison must not touch the first without --replace.
	second := locklabIn(t, cmd.Dir, interleaveArgs(same, same)...)
	requireRefusal(t, second, "already holds a run")
	second = locklabIn(t, cmd.Dir, interleaveArgs(same, same, "--replace", "--rounds", "6", "--duration", "5ms", "--tolerance", "900%")...)
	if stdout, stderr, status := runCommand(t, second); status == exitFailed || status == exitUsage {
		t.Errorf("the same build twice: exit status %d\n%s%s", status, stdout, stderr)
	}
	if !result.Exists(old + ".previous") {
		t.Error("the earlier run is gone")
	}
}

// TestInterleaveLosses: a build whose processes die is measured to the end, and does not pass.
func TestInterleaveLosses(t *testing.T) {
	skipIfShort(t)
	checkApart(t)
	exe := executable(t)
	dying := func(t *testing.T, when string) string {
		dir := t.TempDir()
		path, log := filepath.Join(dir, "program"), filepath.Join(dir, "log")
		text := fmt.Sprintf("#!/bin/sh\necho begun >> '%s'\ncase $(wc -l < '%s') in %s esac\nexec '%s'\n", log, log, when, exe)
		requireNoError(t, os.WriteFile(path, []byte(text), 0o755))
		return path
	}
	const soon, late, crash = "1) ;; *) kill -9 $$;;", "[1-4]) ;; *) kill -9 $$;;", `read -r spec; echo '{"at":"lock"}'; echo 'panic: no node' >&2; exit 2;;`
	for _, c := range []struct {
		name, old, new string // when the builds die; "" is never
		want           int
		said           string
		kept           [2]int // least number of results of each build
	}{
		{"killed twice", "", "4|5) kill -9 $$;;", exitUnfit, "NEW has 11 of its 12 rounds; round 3 was lost", [2]int{12, 11}},
		{"crashes", "", "4) " + crash, exitFailed, "NEW violated crash in 1 of 12 rounds", [2]int{12, 12}},
		// Five losses in a row end it, perhaps before the other build's turn.
		{"new dies from the fourth round on", "", late, exitUnfit, "NEW has 3 of its 12 rounds; round 4 was lost", [2]int{7, 3}},
		{"both die from the first round on", soon, soon, exitUnfit, "which NEW lost: measure: measuring process: signal: killed", [2]int{}},
		{"new crashes, and then dies", "", "4) " + crash + " [1-3]) ;; *) kill -9 $$;;", exitFailed, "NEW violated crash in 1 of 3 rounds", [2]int{7, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			builds := [2]string{exe, exe}
			for i, when := range []string{c.old, c.new} {
				if when != "" {
					builds[i] = dying(t, when)
				}
			}
			cmd := locklab(t, interleaveArgs(builds[0], builds[1], "--duration", "20ms", "--tolerance", "900%")...)
			requireOutcome(t, cmd, c.want, c.said)
			for i, want := range c.kept {
				run := requireRun(t, filepath.Join(cmd.Dir, "pair", sides[i]))
				if n := len(run.Results); n < want {
					t.Errorf("the %s build has %d results, want %d at least", sides[i], n, want)
				}
			}
		})
	}
}

func TestInterleaveInterrupt(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	same, slow := testBuilds(t)
	cmd := locklab(t, interleaveArgs(same, slow, "--rounds", "1000")...)
	if said, status := interruptAfter(t, cmd, 6, measuredLine, os.Interrupt); status != exitInterrupted || !strings.Contains(said, "t-test") {
		t.Errorf("exit status %d\n%s", status, said)
	}
	for _, side := range sides {
		run := requireRun(t, filepath.Join(cmd.Dir, "pair", side))
		if !run.Manifest.Interrupted || len(run.Results) < 3 || len(run.Results) > 15 || len(run.Damage) > 0 {
			t.Errorf("%s: interrupted is %v, %d results, damage %v", side, run.Manifest.Interrupted, len(run.Results), run.Damage)
		}
	}
}

// TestInterleavePlan: locks that one build lacks, and too few rounds, are reported at once.
func TestInterleavePlan(t *testing.T) {
	options := func(rounds int) *compareOptions {
		return &compareOptions{alpha: 0.05, run: optionsOf(t, "--locks=tas,mcs --workers=1,2 "+"--rounds="+fmt.Sprint(rounds))}
	}
	both := measure.Build{Locks: []string{"tas", "mcs"}}
	less := measure.Build{Locks: []string{"mcs", "clh"}}
	p, skipped, err := options(20).plan([2]measure.Build{both, less})
	if err != nil || len(p.Cases) != 2 || len(skipped) != 1 || skipped[0].Lock != "tas" || !strings.Contains(skipped[0].Reason, "new build") {
		t.Errorf("%v, skipped %v, %v", p, skipped, err)
	}
	if _, _, err := options(20).plan([2]measure.Build{both, {}}); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("nothing in common: %v", err)
	}
	if _, _, err := options(stat.MinRounds).plan([2]measure.Build{both, both}); err != nil {
		t.Error(err)
	}
	if _, _, err := options(stat.MinRounds - 1).plan([2]measure.Build{both, both}); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), "want 6 or more") {
		t.Errorf("too few rounds: %v", err)
	}
	// A budget chooses the rounds, if they are enough.
	o := options(20)
	o.run.budget, o.run.duration = time.Hour, time.Second
	if p, _, err := o.plan([2]measure.Build{both, both}); err != nil || p.Rounds < 200 || p.Rounds > 450 {
		t.Errorf("in an hour: %+v, %v", p, err)
	}
	o.run.budget = time.Minute
	if _, _, err := o.plan([2]measure.Build{both, both}); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), "too small") {
		t.Errorf("a minute: %v", err)
	}
}
