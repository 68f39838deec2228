package lab

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness/result"
)

// The arbiter is a simulation: it runs on every machine.

func TestExperimentInterrupt(t *testing.T) {
	t.Parallel()
	cmd := locklab(t, "hardware", "arbiter", "--repeats", "1000000")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if said.Len() == 0 { // it has begun
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
		said.WriteString(lines.Text() + "\n")
	}
	_ = cmd.Wait() // the status shows it
	if status := cmd.ProcessState.ExitCode(); status != exitInterrupted || !strings.Contains(said.String(), "interrupted: ") {
		t.Errorf("exit status %d, said %q", status, said.String())
	}
}

func TestExperimentKept(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"hardware", "arbiter", "--repeats", "1", "-o", dir}
	stdout, stderr, status := output(t, locklab(t, args...))
	if status != 0 || stderr != "" || !strings.Contains(stdout, "report: "+dir) {
		t.Fatalf("exit status %d, said %q, printed\n%s", status, stderr, stdout)
	}
	for _, want := range []string{"round robin", "\nnote: ", "\nanswer: "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
	run := requireRun(t, dir)
	if len(run.Findings) != 1 || run.Findings[0].Name != "arbiter" || run.Manifest.Finished.IsZero() || run.Manifest.Interrupted {
		t.Errorf("kept %+v, manifest %+v", run.Findings, run.Manifest)
	}
	page, err := os.ReadFile(filepath.Join(dir, reportName))
	if err != nil || !strings.Contains(string(page), run.Findings[0].Question) {
		t.Errorf("the report does not ask %q (%v)", run.Findings[0].Question, err)
	}
	for _, c := range []struct {
		flag   string
		status int
		want   string
	}{
		{"", exitUsage, "already holds a run"},
		{"--resume", 0, "finished before"},
		{"--replace", 0, "answer: "},
	} {
		stdout, stderr, status := output(t, locklab(t, append(args, strings.Fields(c.flag)...)...))
		if status != c.status || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%q: exit status %d, said %q, printed %q; want %d and %q", c.flag, status, stderr, stdout, c.status, c.want)
		}
	}
	if !result.Exists(dir + ".previous") {
		t.Error("the replaced run is gone")
	}
}
