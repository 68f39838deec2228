//go:build unix

package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/backend"
)

// needServers skips t without servers to measure, unless LOCKLAB_REQUIRE names them. A namespace
// needs servers that it starts itself: running ones are out of its reach.
func needServers(t *testing.T, kinds ...string) {
	t.Helper()
	for _, kind := range kinds {
		if backend.UsersServer(kind) != "" {
			t.Skipf("the %s server that the environment names is out of reach of a namespace", kind)
		}
		if err := backend.Available(kind); err != nil && !backend.Required(kind) {
			t.Skip(err)
		}
	}
}

// TestRanksApart: ranks with separate addresses, host names and networks make one run, with
// locks on either server.
func TestRanksApart(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	needNamespaces(t)
	needServers(t, harness.KindRedis, harness.KindZooKeeper)
	lab := program(t)
	for _, delay := range []time.Duration{0, 2 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			// On a busy machine ranks open short windows too far apart to be merged.
			var err error
			for _, window := range []string{"300ms", "2s", "8s"} {
				if err = measureApart(t, lab, window, delay); err == nil {
					return
				}
				t.Logf("with windows of %s: %v", window, err)
			}
			t.Error(err)
		})
	}
}

// measureApart measures two locks with three ranks, at servers with that delay, and returns what
// is wrong with the run.
func measureApart(t *testing.T, lab, window string, delay time.Duration) error {
	t.Helper()
	dir := t.TempDir()
	env := []string{"SERVERS=redis zookeeper", "LOCKLAB=" + lab}
	if delay > 0 {
		env = append(env, "DELAY="+delay.String())
	}
	if _, err := inNamespaces(t, env, "3", "--", lab, "run",
		"--locks", "redis-queue,zk-handoff", "--workers", "6", "--rounds", "2", "--duration", window, "--warmup", "10ms",
		"--sync", "redis://10.77.0.1:6379", "--out", filepath.Join(dir, "rank-{}")); err != nil {
		t.Fatal(err)
	}
	run := merge(t, lab, dir)
	locks := make(map[string]bool)
	for _, r := range run.Results {
		locks[r.Lock.Name] = true
	}
	part, err := result.Load(filepath.Join(dir, "rank-0"))
	requireNoError(t, err)
	for _, r := range part.Results { // merged, it is unknown if the ranks differ much
		if trip := time.Duration(r.RoundTrip); trip < delay {
			return fmt.Errorf("a bare round trip of %s took %v, with a proxy that adds %v", r.Lock.Name, trip, delay)
		}
	}
	if err := judgeRun(run, 3, 3); err != nil {
		return err
	}
	if len(locks) != 2 {
		return fmt.Errorf("it has results of the locks %v, want two: it lost %v", locks, run.Manifest.Lost)
	}
	return nil
}

func merge(t *testing.T, lab, dir string) *result.Run {
	t.Helper()
	parts, err := filepath.Glob(filepath.Join(dir, "rank-*"))
	if err != nil || len(parts) == 0 {
		t.Fatalf("%s has no parts (%v)", dir, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	merged := filepath.Join(dir, "merged")
	out, err := exec.CommandContext(ctx, lab, append([]string{"merge", "--out", merged}, parts...)...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != exitIncomplete) {
		t.Fatalf("%v\n%s", err, out)
	}
	run, err := result.Load(merged)
	requireNoError(t, err)
	return run
}

const exitIncomplete = 3
