//go:build unix

package deploy_test

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/backend"
)

// TestRanksApart: ranks with separate addresses, host names and networks make one run, with
// locks on either server. A namespace needs servers that it starts itself.
func TestRanksApart(t *testing.T) {
	lab := buildProgram(t)
	needNamespaces(t)
	for _, kind := range []string{harness.KindRedis, harness.KindZooKeeper} {
		if env := backend.UsersServer(kind); env != "" {
			t.Skipf("the server that %s names is out of reach of a namespace", env)
		}
		if err := backend.Available(kind); err != nil && !backend.Required(kind) {
			t.Skip(err)
		}
	}
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
	_, err := inNamespaces(t, env, "3", "--", lab, "run",
		"--locks", "redis-queue,zk-handoff", "--workers", "6", "--rounds", "2", "--duration", window, "--warmup", "10ms",
		"--sync", "redis://10.77.0.1:6379", "--out", filepath.Join(dir, "rank-{}"))
	requireNoError(t, err)
	parts, merged := filepath.Join(dir, "rank-"), filepath.Join(dir, "merged")
	_, err = exec.Command(lab, "merge", "--out", merged, parts+"0", parts+"1", parts+"2").Output()
	if status, stderr := exitOf(err); status != 0 && status != exitIncomplete {
		t.Fatalf("merge: %v\n%s", err, stderr)
	}
	part, err := result.Load(parts + "0")
	requireNoError(t, err)
	for _, r := range part.Results { // merged, it is unknown if the ranks differ much
		if trip := time.Duration(r.RoundTrip); trip < delay {
			return fmt.Errorf("a bare round trip of %s took %v, with a proxy that adds %v", r.Lock.Name, trip, delay)
		}
	}
	run, err := result.Load(merged)
	requireNoError(t, err)
	locks := make(map[string]bool)
	for _, r := range run.Results {
		locks[r.Lock.Name] = true
	}
	if len(locks) != 2 {
		return fmt.Errorf("it has results of the locks %v, want two: it lost %v", locks, run.Manifest.Lost)
	}
	return judgeRun(run, 3)
}

const exitIncomplete = 3

// judgeRun returns what is wrong with the merged run of that many ranks, each on its own host. On
// a busy machine the windows of all cases may be apart: then there is no result.
func judgeRun(run *result.Run, ranks int) error {
	var errs []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	hosts := make(map[string]bool)
	for _, part := range run.Manifest.Parts {
		hosts[part.Host] = true
	}
	require(len(run.Manifest.Parts) == ranks && len(hosts) == ranks && len(run.Damage) == 0 && len(run.Results) > 0,
		"%d parts on the hosts %v, damage %v, %d results: want %d parts and hosts, no damage, and results", len(run.Manifest.Parts), hosts, run.Damage, len(run.Results), ranks)
	for _, loss := range run.Manifest.Lost {
		require(strings.Contains(loss.Reason, " its window "), "it lost %s: %s", loss.Case, loss.Reason)
	}
	for _, r := range run.Results {
		require(len(r.Violations) == 0 && len(r.Ranks) == ranks, "%s: %d ranks, violations %v", r.Lock.Name, len(r.Ranks), r.Violations)
		for _, rank := range r.Ranks {
			require(rank.Ops > 0, "%s: rank %d never had it", r.Lock.Name, rank.Rank)
		}
	}
	return errors.Join(errs...)
}
