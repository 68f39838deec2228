package lab

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/harness/result"
)

func TestInterrupt(t *testing.T) {
	t.Parallel()
	cmd := locklab(t, "run", "--locks", "sync-mutex,mcs", "--workers", "1", "--rounds", "50", "--duration", "100ms", "--out", "run")
	if said, status := interruptAfter(t, cmd, 3, measuredLine, os.Interrupt); status != exitInterrupted || !strings.Contains(said, reportName) {
		t.Errorf("exit status %d, want %d and a report; printed %q", status, exitInterrupted, said)
	}
	run := requireRun(t, filepath.Join(cmd.Dir, "run"))
	if !run.Manifest.Interrupted || len(run.Results) < 3 || len(run.Results) > 10 || len(run.Damage) > 0 {
		t.Errorf("interrupted is %v, %d results, damage %v", run.Manifest.Interrupted, len(run.Results), run.Damage)
	}
}

// TestInterruptWithoutResults: an end before the first result has one line and no report.
func TestInterruptWithoutResults(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	out, err := result.Create(dir, result.Manifest{})
	requireNoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	m := measuring{program: program(), out: out, stderr: &stderr}
	err = m.finish(ctx, nil, dir, &stdout)
	if want := "interrupted before anything was measured: " + dir + " has no results; resume with: locklab run --resume --out " + dir + "\n"; !errors.Is(err, errInterrupted) || stderr.String() != want || stdout.Len() > 0 || result.Exists(filepath.Join(dir, reportName)) {
		t.Errorf("error %v, wrote %q and %q", err, stderr.String(), stdout.String())
	}
	if status := program().execute(ctx, []string{"env"}, &stdout, new(bytes.Buffer)); status != exitInterrupted || stdout.Len() > 0 {
		t.Errorf("env: exit status %d, printed %q", status, stdout.String())
	}
}

// TestNohup: under nohup the end of the terminal does not end a run.
func TestNohup(t *testing.T) {
	t.Parallel()
	cmd := locklab(t, leastArgs("--rounds", "9")...)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`}, cmd.Args...)
	if said, status := interruptAfter(t, cmd, 1, measuredLine, syscall.SIGHUP); status != 0 {
		t.Errorf("exit status %d, want 0; printed %q", status, said)
	}
}

func TestInterruptEarly(t *testing.T) {
	t.Parallel()
	stalled := t.TempDir() // a program that starts and never gets ready
	begun := filepath.Join(stalled, "begun")
	requireNoError(t, os.WriteFile(filepath.Join(stalled, "redis-server"), []byte("#!/bin/sh\ntouch '"+begun+"'\nexec sleep 60\n"), 0o755))
	cmd := locklab(t, quickArgs("--locks", "redis-poll")...)
	cmd.Env = append(cmd.Env, "PATH="+stalled+":"+os.Getenv("PATH"), "LOCKLAB_REDIS=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	startCommand(t, cmd)
	waitUntil(t, "server", func() bool {
		_, err := os.Stat(begun)
		return err == nil
	})
	if status := endBy(t, cmd, os.Interrupt); status != exitInterrupted || !strings.Contains(stderr.String(), "before anything was measured") {
		t.Errorf("exit status %d, said %q", status, stderr.String())
	}
}

// TestInterruptedLoad: Ctrl-C ends a command while it loads a run.
func TestInterruptedLoad(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"agree", "compare", "history", "report"} {
		dir := t.TempDir()
		manifest := filepath.Join(dir, result.ManifestName)
		requireNoError(t, syscall.Mkfifo(manifest, 0o644))
		cmd := locklab(t, command, dir, dir)
		startCommand(t, cmd)
		var pipe *os.File // without a text
		waitUntil(t, "reader of the manifest", func() bool {
			pipe, _ = os.OpenFile(manifest, os.O_WRONLY|syscall.O_NONBLOCK, 0)
			return pipe != nil
		})
		late := time.AfterFunc(mostTime, func() { pipe.Close() }) // the load ends
		if status := endBy(t, cmd, os.Interrupt); status != exitInterrupted {
			t.Fatalf("%s: exit status %d, want %d", command, status, exitInterrupted)
		}
		late.Stop()
		pipe.Close()
	}
}
