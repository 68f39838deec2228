package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestInterrupt(t *testing.T) {
	t.Parallel()
	cmd := locklab(t, "run", "--locks", "sync-mutex,mcs", "--workers", "1", "--rounds", "50", "--duration", "100ms", "--out", "run")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	begun(t, cmd, 3)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != exitInterrupted {
		t.Errorf("exit status %d, want %d", status, exitInterrupted)
	}
	run := requireRun(t, filepath.Join(cmd.Dir, "run"))
	if !run.Manifest.Interrupted || len(run.Results) < 3 || len(run.Results) > 10 || len(run.Damage) > 0 {
		t.Errorf("interrupted is %v, %d results, damage %v", run.Manifest.Interrupted, len(run.Results), run.Damage)
	}
	if !strings.Contains(stdout.String(), reportName) {
		t.Error("no report was written")
	}
}

func TestInterruptEarly(t *testing.T) {
	t.Parallel()
	stalled := t.TempDir() // a program that starts and never gets ready
	begun := filepath.Join(stalled, "begun")
	if err := os.WriteFile(filepath.Join(stalled, "redis-server"), []byte("#!/bin/sh\ntouch '"+begun+"'\nexec sleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := locklab(t, quick("--locks", "redis-poll")...)
	cmd.Env = append(cmd.Env, "PATH="+stalled+":"+os.Getenv("PATH"), "LOCKLAB_REDIS=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			t.Fatalf("no server was started: %s", stderr.String())
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != exitInterrupted || !strings.Contains(stderr.String(), "before anything was measured") {
		t.Errorf("exit status %d, said %q", status, stderr.String())
	}
}
