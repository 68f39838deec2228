package lab

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
)

func startSpawning(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	needOwn(t, harness.KindRedis)
	cmd := locklab(t, append([]string{"run", "--spawn", "--ranks", "3", "--locks", "redis-token,redsync", "--workers", "4", "--duration", "50ms", "--out", "run"}, args...)...)
	cmd.Env = append(cmd.Env, "LOCKLAB_REDIS=")
	return cmd
}

// TestSpawn: several processes leave one run, which its parts give again.
func TestSpawn(t *testing.T) {
	t.Parallel()
	// A rank that is late by a twentieth of the window, on a busy machine, is not merged.
	cmd := startSpawning(t, "--rounds", "2", "--duration", "2s")
	stdout, stderr, status := runCommand(t, cmd)
	if strings.Contains(stderr, "not merged: ") {
		cmd = startSpawning(t, "--rounds", "2", "--duration", "20s")
		stdout, stderr, status = runCommand(t, cmd)
	}
	if status != 0 {
		t.Fatalf("exit status %d; wrote\n%s%s", status, stdout, stderr)
	}
	requireContains(t, stdout+stderr, "4 results of 3 ranks merged into run", reportName)
	run := requireRun(t, filepath.Join(cmd.Dir, "run"))
	for _, r := range run.Results {
		if len(r.Ranks) != 3 || len(r.Workers) != 4 || r.Workload.Ranks != 3 || len(r.Violations) > 0 || r.Overlap < 0.5 {
			t.Errorf("%s: %d ranks, %d workers, overlap %v, %v", r.Workload.Name(), len(r.Ranks), len(r.Workers), r.Overlap, r.Violations)
		}
	}
	if m := run.Manifest; strings.Join(m.Command[1:], " ") != strings.Join(cmd.Args[1:], " ") || m.Versions[harness.KindRedis] == "" || len(m.Sites) == 0 {
		t.Errorf("command %q, versions %v, servers %v", m.Command, m.Versions, m.Sites)
	}
	requireSuccess(t, locklabIn(t, cmd.Dir, "merge", "run.ranks/2", "run.ranks/0", "run.ranks/1", "--out", "again"))
	for _, name := range []string{result.ResultsName, result.ManifestName} {
		if readFile(t, filepath.Join(cmd.Dir, "run", name)) != readFile(t, filepath.Join(cmd.Dir, "again", name)) {
			t.Errorf("%s differs when the same parts are merged again", name)
		}
	}
	part := locklab(t, "run", "--resume", "--out", filepath.Join(cmd.Dir, "run.ranks", "1"))
	requireRefusal(t, part, "the part of rank 1 of 3: ranks cannot resume: merge what they kept with 'locklab merge', or start again")
	for _, want := range []string{"run already holds a run", "run.ranks is not empty: merge its parts with 'locklab merge', choose another directory by --out, or let --replace remove them"} {
		requireOutcome(t, startSpawning(t, "--rounds", "1", "--out", filepath.Join(cmd.Dir, "run")), exitUsage, want)
		requireNoError(t, os.RemoveAll(filepath.Join(cmd.Dir, "run")))
	}
}

// TestSpawnEnds: after a kill or an interrupt the measured results are one run.
func TestSpawnEnds(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	for _, c := range []struct {
		name   string
		end    func(launcher int, part *result.Run) error
		status int
		want   string
	}{
		{"rank 0 stopped", func(_ int, part *result.Run) error {
			return syscall.Kill(part.Results[0].Ranks[0].PID, syscall.SIGSTOP)
		}, exitUnfit, "rank 0 was still running 20s after another failed, and is killed"},
		{"interrupted", func(launcher int, _ *result.Run) error {
			return syscall.Kill(launcher, syscall.SIGINT)
		}, exitInterrupted, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := startSpawning(t, "--rounds", "1000")
			p := &rankProcess{cmd, new(bytes.Buffer), filepath.Join(cmd.Dir, "run.ranks", fmt.Sprint(0))}
			cmd.Stdout, cmd.Stderr = p.stderr, p.stderr
			startCommand(t, cmd)
			p.measured(t, 4)
			part, err := result.Load(p.dir)
			if err == nil {
				err = c.end(cmd.Process.Pid, part)
			}
			requireNoError(t, err)
			_ = cmd.Wait() // the status says it
			if status := cmd.ProcessState.ExitCode(); status != c.status || !strings.Contains(p.stderr.String(), c.want) {
				t.Errorf("exit status %d, want %d; it said\n%s", status, c.status, p.stderr)
			}
			run := requireRun(t, filepath.Join(cmd.Dir, "run"))
			requireContains(t, p.stderr.String(), "ended before its last round")
			// A busy machine may open each of these short windows apart from the others.
			if len(run.Results)+len(run.Manifest.Lost) < 3 || !run.Manifest.Interrupted || len(run.Damage) > 0 {
				t.Errorf("%d results, %d not merged, interrupted is %v, damage %v", len(run.Results), len(run.Manifest.Lost), run.Manifest.Interrupted, run.Damage)
			}
		})
	}
}
