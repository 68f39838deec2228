package lab

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/cmd/locklab/catalog"
	"locklab/harness/locktest"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/require"
	"locklab/reports/page"
)

// asMain makes the test binary behave as the command.
const asMain = "LOCKLAB_TEST_AS_MAIN"

func program() *Program {
	return &Program{Name: "locklab", Locks: suiteUnderTest(), Defaults: catalog.Defaults, everyStep: true}
}

// parallelTests is the number of parallel tests: they wait for processes most of the time.
const parallelTests = 4

func TestMain(m *testing.M) {
	measure.Main(suiteUnderTest())
	if os.Getenv(asMain) != "" {
		Main(*program())
	}
	locktest.Parallel(parallelTests)
	os.Exit(m.Run())
}

func executable(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	requireNoError(t, err)
	return exe
}

func locklab(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(executable(t), args...)
	cmd.Env = append(os.Environ(), asMain+"=1")
	cmd.Dir = t.TempDir()
	return cmd
}

func runCommand(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func locklabIn(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := locklab(t, args...)
	cmd.Dir = dir
	return cmd
}

var requireNoError = require.NoError

func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
}

func requireAbsent(t *testing.T, file string) {
	t.Helper()
	if _, err := os.Stat(file); err == nil {
		t.Errorf("%s exists", file)
	}
}

func requireContains(t *testing.T, text string, wants ...string) {
	t.Helper()
	flat := strings.Join(strings.Fields(text), " ")
	for _, want := range wants {
		if !strings.Contains(text, want) && !strings.Contains(flat, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func requireOutcome(t *testing.T, cmd *exec.Cmd, want int, texts ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, status := runCommand(t, cmd)
	if status != want {
		t.Fatalf("%q: exit status %d, want %d; wrote\n%s%s", cmd.Args[1:], status, want, stdout, stderr)
	}
	requireContains(t, stdout+stderr, texts...)
	return stdout, stderr
}

func requireSuccess(t *testing.T, cmd *exec.Cmd, texts ...string) (stdout, stderr string) {
	t.Helper()
	return requireOutcome(t, cmd, 0, texts...)
}

func startCommand(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	requireNoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
}

func endBy(t *testing.T, cmd *exec.Cmd, sig os.Signal) int {
	t.Helper()
	requireNoError(t, cmd.Process.Signal(sig))
	_ = cmd.Wait() // the status shows it
	return cmd.ProcessState.ExitCode()
}

func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(mostTime); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v: no %s", mostTime, what)
		}
	}
}

type refusal struct{ args, want string }

func requireRefusal(t *testing.T, cmd *exec.Cmd, want string) {
	t.Helper()
	stdout, stderr, status := runCommand(t, cmd)
	checkRefusal(t, cmd.Args[1:], stdout, stderr, status, want)
}

func checkRefusal(t *testing.T, args []string, stdout, stderr string, status int, want string) {
	t.Helper()
	if status != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "locklab: ") || !strings.Contains(stderr, want) {
		t.Errorf("%q: exit status %d, printed %q, wrote %q; want one line with %q", args, status, stdout, stderr, want)
	}
}

func requireRefusals(t *testing.T, command string, all []refusal) {
	t.Helper()
	for _, c := range all {
		args := strings.Fields(command + " " + c.args)
		stdout, stderr, status := executeArgs(t, args...)
		checkRefusal(t, args, stdout, stderr, status, c.want)
	}
}

func executeArgs(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	status = program().execute(t.Context(), args, &out, &errs)
	return out.String(), errs.String(), status
}

func requireStatus(t *testing.T, want int, args []string, texts ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, status := executeArgs(t, args...)
	if status != want {
		t.Fatalf("%q: exit status %d, want %d; wrote\n%s%s", args, status, want, stdout, stderr)
	}
	requireContains(t, stdout+stderr, texts...)
	return stdout, stderr
}

func quickArgs(args ...string) []string {
	return append([]string{"run", "--locks", "empty,sync-mutex,mcs", "--workers", "1,2", "--rounds", "2",
		"--duration", "20ms", "--out", "run"}, args...)
}

// leastArgs are the flags of a run with few charts, which are slow under the race detector.
func leastArgs(args ...string) []string {
	return append([]string{"run", "--locks", "sync-mutex", "--workers", "1", "--rounds", "2",
		"--duration", "20ms", "--out", "run"}, args...)
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	testRun := absolutePath(t, "../reports/testdata/run")
	one, two := machineRuns(t)
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, "")
	taken := startEcho(t)
	requireRefusals(t, "", []refusal{
		{"proxy", `--listen is "": want HOST:PORT`},
		{"proxy --listen 127.0.0.1:0", `--to is "": want HOST:PORT`},
		{"proxy --listen 127.0.0.1 --to h:1", `--listen is "127.0.0.1": want HOST:PORT`},
		{"proxy --listen 127.0.0.1:0 --to h:", `--to is "h:": want HOST:PORT`},
		{"proxy --listen " + taken + " --to h:1", "address already in use"},
		{"trace", "such as zk-fair"},
		{"trace zk-fair redis-poll", "one lock"},
		{"trace tas", "is local"},
		{"trace remote", "locks"},
		{"trace redis-redlock", "3 servers"},
		{"run --locks nosuch", `"nosuch"`},
		{"run --workers=", `"" is not a number`},
		{"run --wait never", "adaptive, spin, pause, yield, sched-yield, park"},
		{"run --locks tas --workers 4 --rate 500", "500/s, 1k/s or 2/us, or closed for workers that ask again at once, or auto for those around the saturation point"},
		{"run --locks tas --rate 500/s", "needs --workers"},
		{"run --locks tas --workers 4 --rate 500/s --think 1us", "think is 1µs with a rate"},
		{"run --locks tas --workers 4 --rate 1/s --duration 20ms", "too short for one arrival"},
		{"run --locks tas --workers 4 --rate 500/s --arrivals bursts", "poisson, even"},
		{"run --locks tas --rate automatic", "or auto for those around the saturation point"},
		{"run --locks tas --rate auto,auto", `"--rate" flag: "auto" is given twice`},
		{"run --quick --servers 3", "none of the locks chosen is distributed"},
		{"run --seed -1", "want 0 to 18446744073709551615"},
		{"chaos --resume", "--out DIR"},
		{"env extra", `"extra"`},
		{"run --locks tas --workers 4 --deadline 10ms", "needs a rate"},
		{"run --locks tas --workers 1,2,1", `"--workers" flag: "1" is given twice`},
		{"run --locks tas --hold 1us,1000ns", `"1000ns" is given twice`},
		{"run --locks tas --rate auto --think 1us", "--think and --rate auto"},
		{"run --locks tas --rate auto --budget 1s", "too small"},
		{"run --section foo", "work, lines:N with N from 1 to 1024, map, lru or log"},
		{"run --section lru --spread 65536 --locks mcs", "8192 MiB"},
		{"run --durable off,on", "--durable=off,on"},
		{"run --locks mcs --clients 3", "none of the locks chosen is distributed"},
		{"run --quick=zz", `--quick is true or false, not "zz"`},
		{"run --budget 1ms", "too small"},
		{"run --budget 1m --duration 1s --rounds 3", "leave nothing to choose"},
		{"run --locks empty --workers 2", "no case"},
		{"run --locks tas --rounds 1 --duration 1ms --out " + file + "/run", "cannot write"},
		{"run --no-such-flag", "no-such-flag"},
		{"frobnicate", `"frobnicate"`},
		{"completion nosuch", `"nosuch"`},
		{"man a b", "man needs the directory to write, got 2 arguments"},
		{"man " + file, "cannot write"},
		{"run --locks redis-poll --workers 8193", "workers is 8193: want 1 to 8192"},
		{"run --locks redis-poll --gomaxprocs 4097", "gomaxprocs is 4097: want 1 to 4096"},
		{"report", "the directory of a run"},
		{"run --resume --out " + file, "it is a file, and a run is a directory"},
		{"report " + testRun + " --png " + file, "cannot write"},
		{"report " + testRun + "/../axes --require failover", "the run measured none"},
		{"report " + testRun + " --rtt 0", `"0" is not a round trip`},
		{"report " + testRun + " --rtt 2s", "1s at most"},
		{"report " + testRun + " --rtt 1ms", "--rtt: "},
		{"report " + one + " " + two + " --rtt 1ms", "--rtt is for one run"},
		{"report " + testRun + " --contenders 11M", "2 to 10M"},
		{"report " + testRun + " --contenders 10k", "--contenders: "},
		{"report " + one + " " + two + " --contenders 10k", "--contenders is for one run"},
		{"export", "one run"},
		{"export " + testRun + " --format xml", "csv, rates, csv-chaos, published, csv-simulations, bench, hdr-wait, hdr-handover"},
		{"chaos --scenario nosuch", `"nosuch"`},
		{"chaos --scenario (", "error parsing"},
		{"chaos --scenario holder-crash --locks mcs", "none of the scenarios applies"},
		{"chaos --resume --replace -o " + file + "/x", "not both"},
		{"chaos -o " + file + "/x", "cannot write"},
		{"hardware nosuch", `"nosuch"`},
		{"env --strict --accept noise", "there are cpus, cpu-limit"},
		{"env --accept guest", "give both"},
	})
}

func TestUnreachableServer(t *testing.T) {
	t.Setenv("LOCKLAB_REDIS", "127.0.0.1:1")
	dir := filepath.Join(t.TempDir(), "run")
	requireRefusals(t, "run --locks redis-poll --out "+dir, []refusal{{"", "127.0.0.1:1"}})
	requireAbsent(t, dir)
}

func TestRun(t *testing.T) {
	t.Parallel()
	cmd := locklab(t, quickArgs("--seed", "7")...)
	stdout, _ := requireSuccess(t, cmd)
	dir := filepath.Join(cmd.Dir, "run")
	requireContains(t, stdout, filepath.Join(dir, reportName))
	run := requireRun(t, dir)
	// empty serves one worker; the two others run with 1 and 2.
	if m := run.Manifest; len(run.Results) != 10 || len(run.Damage) > 0 || m.Interrupted || m.Finished.IsZero() ||
		m.Seed != 7 || m.Rounds != 2 || m.Cases != 5 || m.Machine.OS == "" {
		t.Errorf("%d results, manifest %+v", len(run.Results), m)
	}
	for _, name := range []string{result.BenchName, reportName, markdownName, filepath.Join(chartsName, "throughput.png")} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}

	// A second run must not touch the first without --replace.
	again := locklabIn(t, cmd.Dir, quickArgs()...)
	requireRefusal(t, again, "already holds a run")
	again = locklabIn(t, cmd.Dir, leastArgs("--replace")...)
	requireSuccess(t, again)
	if !result.Exists(dir + ".previous") {
		t.Error("the earlier run is gone")
	}

	// A report can be drawn again, also from a file whose end is lost.
	dir += ".previous"
	results := filepath.Join(dir, result.ResultsName)
	text := readFile(t, results)
	writeFile(t, results, text[:len(text)-100])
	html := filepath.Join(cmd.Dir, "again.html")
	requireSuccess(t, locklab(t, "report", dir, "--out", html, "--png", filepath.Join(cmd.Dir, "png")))
	requireContains(t, readFile(t, html), "cut short")
	run = requireRun(t, dir)
	posters := page.Posters(run)
	requireAbsent(t, filepath.Join(cmd.Dir, "png", "throughput-distributed.png"))
	if len(run.Results) != 9 || len(posters) == 0 {
		t.Errorf("%d results and %d charts, want 9 results of 10", len(run.Results), len(posters))
	}
	for _, p := range posters {
		requireContains(t, readFile(t, filepath.Join(cmd.Dir, "png", p.Name+".png"))[:4], "\x89PNG")
	}
}

var noServers = []string{"PATH=", "ZOOKEEPER_HOME=", "JAVA_HOME=", "LOCKLAB_REQUIRE=", "LOCKLAB_REDIS=", "LOCKLAB_ZOOKEEPER="}

func TestNoServers(t *testing.T) {
	t.Parallel()
	cmd := locklab(t, leastArgs("--locks", "sync-mutex,redis-poll,zk-fair")...)
	cmd.Env = append(cmd.Env, noServers...)
	_, stderr := requireSuccess(t, cmd)
	run := requireRun(t, filepath.Join(cmd.Dir, "run"))
	page := readFile(t, filepath.Join(cmd.Dir, "run", reportName))
	if len(run.Manifest.Skipped) != 2 {
		t.Errorf("skipped %v, want two locks", run.Manifest.Skipped)
	}
	for _, s := range run.Manifest.Skipped {
		if s.Reason == "" || !strings.Contains(stderr, s.Lock) || !strings.Contains(page, s.Lock) {
			t.Errorf("%s was skipped in silence: %+v", s.Lock, s)
		}
	}

	cmd = locklab(t, quickArgs("--locks", "redis-poll")...)
	cmd.Env = append(cmd.Env, "PATH=", "LOCKLAB_REQUIRE=redis", "LOCKLAB_REDIS=")
	requireOutcome(t, cmd, exitFailed, "redis")
	cmd = locklab(t, "trace", "redis-poll")
	cmd.Env = append(cmd.Env, noServers...)
	requireRefusal(t, cmd, "redis-server")
}

func TestListAndEnv(t *testing.T) {
	t.Parallel()
	stdout, _ := requireStatus(t, 0, []string{"list", "--verbose"})
	for _, v := range catalog.All() {
		if !strings.Contains(stdout, v.Name) || !strings.Contains(stdout, v.Paper) {
			t.Errorf("list does not show %s and its source", v.Name)
		}
	}
	requireStatus(t, 0, []string{"list", "--json"}, `"mcs"`)
	requireStatus(t, 0, []string{"env", "--json"}, `"clock_hz":`, `"topology":`, `"servers":`, `"noise":`, `"warnings":`)
}
