package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"locklab/harness/measure"
	"locklab/harness/result"
)

func checkApart(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("it is about processes, which the race detector makes slow and does not look into; TestResume and TestInterrupt run under it")
	}
	t.Parallel()
}

// measuredLine is in each line of progress about a result.
const measuredLine = " left  round "

// interruptAfter starts cmd, sends sig after n lines that contain text, and returns its output and
// its exit status.
func interruptAfter(t *testing.T, cmd *exec.Cmd, n int, text string, sig os.Signal) (said string, status int) {
	t.Helper()
	out, err := cmd.StderrPipe()
	requireNoError(t, err)
	cmd.Stdout = cmd.Stderr
	requireNoError(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text() + "\n"
		if strings.Contains(lines.Text(), text) {
			if n--; n == 0 {
				requireNoError(t, cmd.Process.Signal(sig))
			}
		}
	}
	_ = cmd.Wait() // the status shows it
	return said, cmd.ProcessState.ExitCode()
}

func checkOnce(t *testing.T, dir string, cases, rounds int) *result.Run {
	t.Helper()
	run := requireRun(t, dir)
	seen := make(map[string]int)
	for _, r := range run.Results {
		at := fmt.Sprintf("%s/%s in round %d", r.Lock.Name, r.Workload.Name(), r.Round)
		if seen[at]++; seen[at] > 1 || r.Round >= rounds {
			t.Errorf("%s was measured %d times, of %d rounds", at, seen[at], rounds)
		}
	}
	if len(seen) != cases*rounds {
		t.Errorf("%d cases and rounds, want %d", len(seen), cases*rounds)
	}
	if m := run.Manifest; m.Interrupted || m.Finished.IsZero() || len(run.Damage) > 0 || m.Rounds != rounds || m.Cases != cases {
		t.Errorf("interrupted is %v, finished %v, %d cases, %d rounds, damage %q", m.Interrupted, m.Finished, m.Cases, m.Rounds, run.Damage)
	}
	return run
}

// TestResume interrupts a run three times: by Ctrl-C, by a kill, and by a kill followed by
// cutting its last line. Then it resumes to the end.
func TestResume(t *testing.T) {
	t.Parallel() // it waits for its processes most of the time
	const cases, rounds = 4, 6
	start := []string{"run", "--locks", "sync-mutex,mcs,tas,ttas", "--workers", "1", "--rounds", strconv.Itoa(rounds), "--duration", "20ms", "--seed", "5", "--out", "run"}
	home := t.TempDir()
	dir := filepath.Join(home, "run")
	interruptThrice(t, home, start)
	results := filepath.Join(dir, result.ResultsName)
	text := readFile(t, results)
	if n := strings.Count(text, "\n"); n < 9 || n > cases*rounds-3 {
		t.Fatalf("%d results after three interruptions", n)
	}
	writeFile(t, results, text[:len(text)-100])
	cmd := locklabIn(t, home, "run", "--resume", "--out", "run", "--seed", "5", "--rounds", strconv.Itoa(rounds))
	requireSuccess(t, cmd)
	run := checkOnce(t, dir, cases, rounds)
	if !slices.Equal(run.Manifest.Command[1:], start) {
		t.Errorf("the manifest says %q, want the command that began", run.Manifest.Command)
	}
	waits := 0
	for _, r := range run.Results {
		if len(r.Wait) > 0 { // a busy machine may leave a short window without samples
			waits++
		}
	}
	for _, c := range []struct {
		name, line string
		want       int
	}{{result.BenchName, "\nBenchmark", cases * rounds}, {result.WaitLogName, "\nTag=", waits}} {
		if n := strings.Count(readFile(t, filepath.Join(dir, c.name)), c.line); n != c.want {
			t.Errorf("%s has %d results, want %d", c.name, n, c.want)
		}
	}

	// Resuming a complete run measures nothing and reports this.
	cmd = locklabIn(t, home, "run", "--resume", "--out", "run")
	requireSuccess(t, cmd, "24 of 24 were measured before")
	checkOnce(t, dir, cases, rounds)
	checkRefusals(t, home)
}

func interruptThrice(t *testing.T, home string, start []string) {
	t.Helper()
	for i, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL, syscall.SIGKILL} {
		args := []string{"run", "--resume", "--out", "run"}
		if i == 0 {
			args = start
		}
		said, _ := interruptAfter(t, locklabIn(t, home, args...), 3, measuredLine, sig)
		if i > 0 && !strings.Contains(said, "were measured before") {
			t.Errorf("it does not say what it goes on with:\n%s", said)
		}
	}
}

// checkRefusals resumes a finished run under changed conditions: each gives one line.
func checkRefusals(t *testing.T, home string) {
	name := filepath.Join(home, "run", result.ManifestName)
	original := readFile(t, name)
	for _, c := range []struct {
		flags string
		edit  func(m *result.Manifest)
		want  string
	}{
		{"--locks mcs", nil, `--locks "sync-mutex,mcs,tas,ttas", this is "mcs"`},
		{"--duration 31ms", nil, `--duration "20ms", this is "31ms"`},
		{"--seed 6", nil, `--seed "5", this is "6"`},
		{"--replace", nil, "not both"},
		{"", func(m *result.Manifest) { m.Binary = strings.Repeat("0", 64) }, "another build"},
		{"", func(m *result.Manifest) { m.Cases = 5 }, "5 cases"},
		{"", func(m *result.Manifest) { m.Flags["workers"] = "2" }, "which it has measured"},
		{"", func(m *result.Manifest) { m.Window++ }, "20ms"},
		{"", func(m *result.Manifest) { m.Flags = nil }, "has no record of its flags"},
	} {
		var m result.Manifest
		requireNoError(t, json.Unmarshal([]byte(original), &m))
		if c.edit != nil {
			c.edit(&m)
		}
		text, err := json.Marshal(m)
		requireNoError(t, err)
		writeFile(t, name, string(text))
		requireRefusals(t, "run --resume --out "+filepath.Join(home, "run"), []refusal{{c.flags, c.want}})
	}
	requireRefusals(t, "run", []refusal{{"--resume", "--out DIR"}})
	requireRefusals(t, "chaos --resume --locks redis-poll --out "+filepath.Join(home, "run"), []refusal{{"", "has seed 5: give --seed 5"}})
	err := goOn(new(measure.Plan), home, new(result.Run), []result.Skip{{Lock: "mcs", Reason: "no server"}})
	if err == nil || !strings.Contains(err.Error(), "mcs was measured before and is skipped now: no server") {
		t.Errorf("a lock that is skipped now: %v", err)
	}
}

func TestOneWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	m := program().manifest(1)
	m.Flags = map[string]string{"seed": "1", "locks": "sync-mutex", "workers": "1", "rounds": "1"}
	m.Rounds, m.Cases, m.Window = 1, 1, time.Second
	run, err := result.Create(dir, m)
	requireNoError(t, err)
	requireRefusals(t, "run --resume --out "+dir, []refusal{{"", "another locklab is writing it"}})
	requireNoError(t, run.Finish(func(*result.Manifest) {}))
}

func children(t *testing.T, pid int) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	requireNoError(t, err)
	for _, name := range stats {
		text, err := os.ReadFile(name)
		_, after, found := strings.Cut(string(text), ") ") // pid (name) state parent
		if fields := strings.Fields(after); err == nil && found && fields[1] == strconv.Itoa(pid) && fields[0] != "Z" {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			requireNoError(t, err)
			pids = append(pids, child)
		}
	}
	return pids
}

// TestKilledChild: a case killed once is measured again, twice it is lost until --resume.
func TestKilledChild(t *testing.T) {
	checkApart(t)
	if runtime.GOOS != "linux" {
		t.Skip("the children of a process are read from /proc")
	}
	const rounds = 4
	cmd := locklab(t, "run", "--locks", "sync-mutex", "--workers", "1", "--rounds", strconv.Itoa(rounds), "--duration", "200ms", "--out", "run")
	var said bytes.Buffer
	cmd.Stderr = &said
	requireNoError(t, cmd.Start())
	killed := make(map[int]bool)
	for deadline := time.Now().Add(20 * time.Second); len(killed) < 3 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for _, pid := range children(t, cmd.Process.Pid) {
			if !killed[pid] && len(killed) < 3 {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
					t.Fatal(err)
				}
				killed[pid] = true
			}
		}
	}
	cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != exitFailed || strings.Count(said.String(), "LOST lock=sync-mutex") != 1 ||
		strings.Count(said.String(), "AGAIN lock=sync-mutex") != 1 || !strings.Contains(said.String(), "signal: killed") || !strings.Contains(said.String(), "1 of 4 measurements gave no result") {
		t.Fatalf("exit status %d, said %s", status, said.String())
	}
	dir := filepath.Join(cmd.Dir, "run")
	run := requireRun(t, dir)
	if len(run.Results) != rounds-1 || !slices.ContainsFunc(run.Manifest.Warnings, isLoss) {
		t.Fatalf("%d results, warnings %v, want all but one", len(run.Results), run.Manifest.Warnings)
	}
	again := 0
	for _, r := range run.Results {
		if len(r.Retries) > 0 {
			again++
		}
	}
	if lost := run.Manifest.Lost; again != 1 || len(lost) != 1 || lost[0].Round != 0 || !strings.Contains(lost[0].Reason, "the second try") {
		t.Errorf("%d results tell of another try; lost is %+v: want one of each", again, run.Manifest.Lost)
	}
	resumed := locklabIn(t, cmd.Dir, "run", "--resume", "--out", "run")
	requireSuccess(t, resumed)
	if run := checkOnce(t, dir, 1, rounds); len(run.Manifest.Lost) > 0 || slices.ContainsFunc(run.Manifest.Warnings, isLoss) {
		t.Error("the whole run still warns of a lost case")
	}
}

// limitFiles returns locklab with files limited to blocks of 512 bytes, or of 1024.
func limitFiles(t *testing.T, blocks int, args ...string) *exec.Cmd {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	cmd := locklab(t)
	cmd.Args = append([]string{sh, "-c", fmt.Sprintf(`trap '' XFSZ; ulimit -f %d; exec "$0" "$@"`, blocks), cmd.Path}, args...)
	cmd.Path = sh
	return cmd
}

// TestFullDisk: on a full disk the results are complete, and the run resumes with room.
func TestFullDisk(t *testing.T) {
	checkApart(t)
	const rounds = 10
	cmd := limitFiles(t, 20, "run", "--locks", "sync-mutex,mcs", "--workers", "2", "--rounds", strconv.Itoa(rounds), "--duration", "5ms", "--out", "run")
	_, stderr, status := runCommand(t, cmd)
	last := stderr[strings.LastIndex(strings.TrimSuffix(stderr, "\n"), "\n")+1:]
	if status != exitFailed || !strings.HasPrefix(last, "locklab: ") || !strings.Contains(last, "file too large") || !strings.Contains(last, "--resume --out run") {
		t.Fatalf("exit status %d, said %s", status, stderr)
	}
	dir := filepath.Join(cmd.Dir, "run")
	run := requireRun(t, dir)
	if n := len(run.Results); n == 0 || n >= 2*rounds || len(run.Damage) > 0 || !strings.Contains(last, fmt.Sprintf("; %d of %d measurements are in ", n, 2*rounds)) {
		t.Errorf("%d results, damage %q, said %q", n, run.Damage, last)
	}
	again := locklabIn(t, cmd.Dir, "run", "--resume", "--out", "run")
	requireSuccess(t, again)
	checkOnce(t, dir, 2, rounds)
}

func TestPlanFlags(t *testing.T) {
	others := []string{"rank", "sync", "job", "assemble", "spawn", "out", "replace", "resume", "help", "require", "baseline"} // they say where and whether, not what
	program().runCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(planFlags, f.Name) == slices.Contains(others, f.Name) {
			t.Errorf("--%s belongs in planFlags if it says what is measured, else in this test", f.Name)
		}
	})
}
