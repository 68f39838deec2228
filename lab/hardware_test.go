package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness/result"
)

// The arbiter is a simulation: it runs on every machine.

func TestExperimentInterrupt(t *testing.T) {
	t.Parallel()
	cmd := locklab(t, "hardware", "arbiter", "--repeats", "10000")
	if said, status := interruptAfter(t, cmd, 1, "arbiter: ", os.Interrupt); status != exitInterrupted || !strings.Contains(said, "interrupted: ") {
		t.Errorf("exit status %d, said %q", status, said)
	}
}

func TestExperimentKept(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"hardware", "arbiter", "--repeats", "1", "-o", dir}
	requireStatus(t, 0, args, "report: "+dir, "round robin", "\nnote: ", "\nanswer: ")
	run := requireRun(t, dir)
	if len(run.Findings) != 1 || run.Findings[0].Name != "arbiter" || run.Manifest.Finished.IsZero() || run.Manifest.Interrupted {
		t.Errorf("kept %+v, manifest %+v", run.Findings, run.Manifest)
	}
	requireContains(t, readFile(t, filepath.Join(dir, reportName)), run.Findings[0].Question)
	for _, c := range []struct {
		flag   string
		status int
		want   string
	}{
		{"", exitUsage, "already holds a run"},
		{"--resume", 0, "finished before"},
		{"--replace", 0, "answer: "},
	} {
		requireStatus(t, c.status, append(args, strings.Fields(c.flag)...), c.want)
	}
	if !result.Exists(dir + ".previous") {
		t.Error("the replaced run is gone")
	}
}
