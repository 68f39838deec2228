package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

func TestChaosList(t *testing.T) {
	t.Parallel()
	stdout, stderr, status := output(t, locklab(t, "chaos", "list", "-v", "holder-crash"))
	if status != 0 || stderr != "" {
		t.Errorf("exit status %d, said %q", status, stderr)
	}
	for _, want := range []string{"holder-crash: ", "family: holder", "fault: ", "source: ", "zk-handoff", "redsync"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the description of holder-crash lacks %q:\n%s", want, stdout)
		}
	}
}

// TestChaos: a run of a scenario is stored, reported and resumed, also after the lab was
// killed. No process of a killed lab survives.
func TestChaos(t *testing.T) {
	t.Parallel()
	need(t, harness.KindRedis)
	cmd := locklab(t, "chaos", "--scenario", "holder-crash", "--locks", "redis-queue", "--tries", "50", "--out", "run")
	text, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := text.Read(make([]byte, 100)); err != nil { // it has begun
		t.Fatal(err)
	}
	var pids []int
	for end := time.Now().Add(20 * time.Second); len(pids) < 2 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		pids = children(t, cmd.Process.Pid)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	gone(t, pids)
	resumed := exec.Command(cmd.Path, "chaos", "--scenario", "holder-crash", "--locks", "redis-queue", "--tries", "2", "--out", "run", "--resume")
	resumed.Env, resumed.Dir = cmd.Env, cmd.Dir
	stdout, stderr, status := output(t, resumed)
	if !strings.Contains(stderr, " to make, about ") && !strings.Contains(stderr, "nothing is left to try") {
		t.Errorf("it does not say what is left to do: %q", stderr)
	}
	if status != 0 || !strings.Contains(stdout, "redis-queue") || !strings.Contains(stdout, reportName) {
		t.Fatalf("exit status %d, printed %q, said %q", status, stdout, stderr)
	}
	run, err := result.Load(filepath.Join(cmd.Dir, "run"))
	if err != nil || len(run.Faults) != 1 || run.Faults[0].Tries < 2 || run.Manifest.Finished.IsZero() {
		t.Fatalf("%v, %+v", err, run)
	}
	if row := result.JudgeFault(run.Faults[0]); row.Verdict == result.NotTested {
		t.Errorf("%+v", row)
	}
	again := exec.Command(cmd.Path, resumed.Args[1:]...)
	again.Env, again.Dir = cmd.Env, cmd.Dir
	_, stderr, status = output(t, again)
	if status != 0 || strings.Contains(stderr, "holder-crash:") || !strings.Contains(stderr, "nothing is left to try") {
		t.Errorf("a run that is whole goes on: status %d, %q", status, stderr)
	}
}

// TestRunChaos: a run tries the quick scenarios on its remote locks and reports them.
func TestRunChaos(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("it is locklab run and then locklab chaos, each of which is tested on its own")
	}
	need(t, harness.KindRedis)
	cmd := locklab(t, quick("--locks", "redis-poll", "--workers", "1", "--chaos")...)
	stdout, stderr, status := output(t, cmd)
	if status != 0 && status != exitFailed { // a stall on a busy machine may give an unexpected outcome
		t.Fatalf("exit status %d, printed %q, said %q", status, stdout, stderr)
	}
	run, err := result.Load(filepath.Join(cmd.Dir, "run"))
	if err != nil || len(run.Results) != 2 || len(run.Faults) == 0 || run.Faults[0].Lock.Name != "redis-poll" {
		t.Errorf("%v, %d results, %d faults", err, len(run.Results), len(run.Faults))
	}
}

func gone(t *testing.T, pids []int) {
	t.Helper()
	if len(pids) < 2 {
		t.Fatalf("the lab has %d child processes, want a server and workers", len(pids))
	}
	for _, pid := range pids {
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if errors.Is(err, os.ErrNotExist) || strings.Contains(string(text), ") Z ") {
				break
			}
			if time.Now().After(end) {
				t.Errorf("process %d outlives the lab that started it", pid)
				break
			}
		}
	}
}

func TestChaosRefuted(t *testing.T) {
	c := chaosRun{program: program()}
	c.keep(&result.FaultResult{
		Scenario: "holder-crash", Question: "?", Fault: "a crash", Lock: harness.Lock{Name: "mine"}, Tries: 3,
		Expected: result.Expectation{Why: "it is safe"}, Seen: map[oracle.Anomaly]int{oracle.TwoHolders: 1}, Notes: []string{"worker 1 beside worker 2"},
	})
	lines := c.refuted()
	if len(lines) != 1 || !strings.Contains(lines[0], "mine: two holders in scenario holder-crash") {
		t.Errorf("refuted: %q", lines)
	}
	var out strings.Builder
	if err := c.print(&out); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"mine refuted: two holders", "where no anomaly was expected: it is safe", "worker 1 beside worker 2"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
