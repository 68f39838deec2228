package measure

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/child"
)

// TestHungProcess: a hanging lock is a finding, and a client that never connects is not.
func TestHungProcess(t *testing.T) {
	for _, c := range []struct {
		lock  *harness.Variant
		found bool
	}{{hang, true}, {deaf, true}, {unreachable, false}} {
		t.Run(c.lock.Name, func(t *testing.T) {
			t.Parallel()
			p := plan(1, c.lock)
			p.Cases[0].Workload.Window, p.Patience = time.Millisecond, 4*time.Second // time for the process to reach the lock
			at := runPlan(t, p)[0]
			found := at.Result != nil && len(at.Result.Violations) == 1 && at.Result.Violations[0].Rule == "liveness"
			if found != c.found || (at.Lost == nil) != c.found {
				t.Errorf("result %+v, lost: %v", at.Result, at.Lost)
			}
		})
	}
}

func TestKillHung(t *testing.T) {
	for share, want := range map[float64]bool{0: false, 1: true} {
		cmd := exec.Command("sleep", "0.3")
		proc, err := child.Start(cmd)
		requireNoError(t, err)
		served, _ := rationed(share)
		hangs := killHung(proc, served, 20*time.Millisecond)
		err = proc.Err()
		if got := hangs(); got != want || (err != nil) != want {
			t.Errorf("with %v of a processor: killed is %v (%v)", share, got, err)
		}
	}
}

func TestOrphan(t *testing.T) {
	exe, err := os.Executable()
	requireNoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	in, err := cmd.StdinPipe()
	requireNoError(t, err)
	requireNoError(t, cmd.Start())
	fmt.Fprintln(in, `{"Lock":"hang","Workload":{"workers":1,"window":1}}`)
	time.Sleep(300 * time.Millisecond)
	in.Close()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitOrphan {
		t.Errorf("%v, want exit status %d", err, exitOrphan)
	}
}
