//go:build unix

package deploy_test

import (
	"context"
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	return run
}

const exitIncomplete = 3

// TestRanksLost: one rank is killed and one loses its network, in the middle of a run. The
// others end, report the missing ranks, and keep their measurements.
func TestRanksLost(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	needNamespaces(t)
	needServers(t, harness.KindRedis)
	lab := program(t)
	dir := t.TempDir()
	// Each fault waits until rank 0 has measured something.
	const faults = `case $1 in
1) fault='kill -KILL '$$ ;;
2) fault='ip link set eth0 down' ;;
*) fault= ;;
esac
out=$2/rank-$1
[ -z "$fault" ] || { until [ -s "$2/rank-0/results.jsonl" ]; do sleep 0.1; done; $fault; } &
shift 2
exec "$@" --out "$out"`
	_, err := inNamespaces(t, nil, "4", "--", "sh", "-c", faults, "sh", "{}", dir, lab, "run",
		"--locks", "redis-queue", "--workers", "8", "--rounds", "200", "--duration", "500ms", "--warmup", "10ms",
		"--sync", "redis://10.77.0.1:6379")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 128+9 {
		t.Fatalf("got %v, want the status of the one that was killed", err)
	}
	said := string(exit.Stderr)
	for _, line := range []string{
		"locklab: rank 2 stops: measure: Redis at 10.77.0.1:6379, where the ranks meet, has not answered",
		"locklab: rank 0 stops: ",
		"locklab: rank 3 stops: ",
	} {
		if !strings.Contains(said, line) {
			t.Errorf("no line %q in\n%s", line, said)
		}
	}
	if !strings.Contains(said, "(host rank-1, pid ") && !strings.Contains(said, "(host rank-2, pid ") {
		t.Errorf("nothing says which are gone:\n%s", said)
	}
	for _, rank := range []int{0, 3} {
		run, err := result.Load(filepath.Join(dir, fmt.Sprintf("rank-%d", rank)))
		if err != nil || len(run.Results) == 0 || len(run.Results) >= 200 {
			t.Errorf("rank %d kept %d results, want some (%v)", rank, len(run.Results), err)
		}
	}
	if run := merge(t, lab, dir); !run.Manifest.Interrupted || len(run.Manifest.Parts) != 4 {
		t.Errorf("merged, it is interrupted %v and has %d parts", run.Manifest.Interrupted, len(run.Manifest.Parts))
	}
}
