package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

// TestChaos: a run of a scenario is stored, reported and resumed, also after the lab was
// killed. A killed lab leaves no process.
func TestChaos(t *testing.T) {
	t.Parallel()
	needServers(t, harness.KindRedis)
	cmd := locklab(t, "chaos", "--scenario", "holder-crash", "--locks", "redis-queue", "--tries", "50", "--out", "run")
	startCommand(t, cmd)
	var pids []int
	waitUntil(t, "server and workers", func() bool {
		pids = children(t, cmd.Process.Pid)
		return len(pids) >= 2
	})
	endBy(t, cmd, os.Kill)
	awaitGone(t, pids)
	resume := []string{"chaos", "--scenario", "holder-crash", "--locks", "redis-queue", "--tries", "2", "--out", "run", "--resume"}
	_, stderr := requireSuccess(t, locklabIn(t, cmd.Dir, resume...), "redis-queue", reportName)
	started := strings.Contains(stderr, " to make, about ") // servers
	if !started && !strings.Contains(stderr, "nothing is left to try") {
		t.Errorf("it does not print what is left to do: %q", stderr)
	}
	run := requireRun(t, filepath.Join(cmd.Dir, "run"))
	if len(run.Faults) != 1 || run.Faults[0].Tries < 2 || run.Manifest.Finished.IsZero() || started && run.Manifest.Versions[harness.KindRedis] == "" {
		t.Fatalf("%+v", run)
	}
	if row := result.JudgeFault(run.Faults[0]); row.Verdict == result.NotTested {
		t.Errorf("%+v", row)
	}
	if _, stderr := requireSuccess(t, locklabIn(t, cmd.Dir, resume...), "nothing is left to try"); strings.Contains(stderr, "holder-crash:") {
		t.Errorf("a complete run continues: %q", stderr)
	}
}

// TestRunChaos: a run tries the quick scenarios on its remote locks and reports them.
func TestRunChaos(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("it is locklab run and then locklab chaos, each of which is tested on its own")
	}
	needServers(t, harness.KindRedis)
	cmd := locklab(t, quickArgs("--locks", "redis-poll", "--workers", "1", "--chaos")...)
	stdout, stderr, status := runCommand(t, cmd)
	if status != 0 && status != exitFailed { // a stall on a busy machine may give an unexpected outcome
		t.Fatalf("exit status %d, printed %q, said %q", status, stdout, stderr)
	}
	run := requireRun(t, filepath.Join(cmd.Dir, "run"))
	if len(run.Results) != 2 || len(run.Faults) == 0 || run.Faults[0].Lock.Name != "redis-poll" {
		t.Errorf("%d results, %d faults", len(run.Results), len(run.Faults))
	}
}

// TestChaosUntested: a command that could try nothing does not succeed.
func TestChaosUntested(t *testing.T) {
	t.Setenv("PATH", "")
	t.Setenv("LOCKLAB_REDIS_SERVER", "")
	requireStatus(t, exitUsage, strings.Fields("chaos --scenario redis-restart-empty --locks redis-token --tries 1"), "not tested: redis: no server", "locklab: nothing was tried: redis: no server")
}

func awaitGone(t *testing.T, pids []int) {
	t.Helper()
	if len(pids) < 2 {
		t.Fatalf("the lab has %d child processes, want a server and workers", len(pids))
	}
	for _, pid := range pids {
		waitUntil(t, fmt.Sprintf("end of process %d after the lab that started it", pid), func() bool {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return errors.Is(err, os.ErrNotExist) || strings.Contains(string(text), ") Z ")
		})
	}
}

func TestChaosUnexpected(t *testing.T) {
	c := chaosRun{program: program()}
	c.keep(&result.FaultResult{
		Scenario: "holder-crash", Question: "?", Fault: "a crash", Lock: result.Lock{Name: "mine"}, Tries: 3,
		Expected: result.Expectation{Why: "it is safe"}, Seen: map[oracle.Anomaly]int{oracle.TwoHolders: 1}, Notes: []string{"worker 1 beside worker 2"},
	})
	lines := c.unexpected()
	if len(lines) != 1 || !strings.Contains(lines[0], "mine: two holders in scenario holder-crash") {
		t.Errorf("unexpected: %q", lines)
	}
	var out strings.Builder
	requireNoError(t, c.print(&out))
	text := strings.Join(strings.Fields(out.String()), " ")
	requireContains(t, text, "mine unexpected: two holders", "but no anomaly was expected: it is safe", "worker 1 beside worker 2")
}
