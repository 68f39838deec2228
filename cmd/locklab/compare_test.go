package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/harness/runner"
	"locklab/internal/catalog"
)

// slowed makes the test binary another build of the command: one whose ticket
// lock takes a microsecond more.
const slowed = "LOCKLAB_TEST_SLOWED"

// suiteUnderTest returns the locks of the command.
func suiteUnderTest() []*harness.Variant {
	all := catalog.All()
	if os.Getenv(slowed) == "" {
		return all
	}
	return slices.Collect(func(yield func(*harness.Variant) bool) {
		for _, v := range all {
			if v.Name == "ticket" {
				slow := *v
				slow.Local = func(harness.Setup) harness.Local { return harness.Shared(new(slowLock)) }
				v = &slow
			}
			if !yield(v) {
				return
			}
		}
	})
}

type slowLock struct{ sync.Mutex }

func (l *slowLock) Lock() {
	l.Mutex.Lock()
	for t := time.Now(); time.Since(t) < time.Microsecond; {
	}
}

// builds writes two programs: the command, and the command with a slow lock.
func testBuilds(t *testing.T) (same, slow string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	same, slow = filepath.Join(dir, "same"), filepath.Join(dir, "slow")
	for path, text := range map[string]string{same: "exec '" + exe + "'", slow: slowed + "=1 exec '" + exe + "'"} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return same, slow
}

// writeRun writes a run in which a worker takes "tas" so often a second, and
// twice as often "mcs".
func writeRun(t *testing.T, dir string, rate float64, rounds int, edit func(*harness.Result)) string {
	t.Helper()
	out, err := resultfile.Create(dir, resultfile.Manifest{Rounds: rounds, Cases: 2, Started: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for round := range rounds {
		for i, name := range []string{"tas", "mcs"} {
			r := &harness.Result{Lock: harness.Lock{Name: name, Family: harness.Spin, Status: harness.Reference}, Round: round,
				Workload: harness.Workload{Workers: 1, Window: time.Second}, Elapsed: time.Second,
				Ops: uint64(rate*float64(1+i)) + uint64(1000*(round*7%rounds))}
			if edit != nil {
				edit(r)
			}
			if err := out.Append(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := out.Finish(func(m *resultfile.Manifest) { m.Finished = time.Now() }); err != nil {
		t.Fatal(err)
	}
	return dir
}

// cutLines replaces each line of the results in dir that holds text.
func cutLines(t *testing.T, dir string, by func(line string) string, text string) {
	t.Helper()
	name := filepath.Join(dir, resultfile.ResultsName)
	all, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cut := 0
	for line := range strings.Lines(string(all)) {
		if strings.Contains(line, text) {
			cut++
			line = by(line)
		}
		out.WriteString(line)
	}
	if cut == 0 {
		t.Fatalf("no line holds %s", text)
	}
	if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestCompareStatus: the exit status is the verdict.
func TestCompareStatus(t *testing.T) {
	root := t.TempDir()
	run := func(name string, rate float64, rounds int, edit func(*harness.Result)) string {
		return writeRun(t, filepath.Join(root, name), rate, rounds, edit)
	}
	base := run("base", 1e6, 10, nil)
	like := run("like", 1.001e6, 10, nil)
	slow := run("slow", 0.9e6, 10, nil)
	few := run("few", 0.5e6, 2, nil)
	wild := run("wild", 1e6, 10, func(r *harness.Result) { r.Ops = r.Ops * uint64(3+2*(r.Round%4)) / 6 })
	broken := run("broken", 1e6, 10, func(r *harness.Result) {
		if r.Lock.Name == "mcs" && r.Round == 4 {
			r.Violations = []harness.Violation{{Rule: "exclusion", Detail: "lost", Count: 1}}
		}
	})
	crashed := run("crashed", 1e6, 10, func(r *harness.Result) {
		if r.Lock.Name == "mcs" {
			r.Violations = []harness.Violation{{Rule: "crash", Detail: "panic: no node", Count: 1}}
		}
	})
	lost := run("lost", 1e6, 10, nil)
	cutLines(t, lost, func(line string) string { return "" }, `"name":"mcs"`)
	damaged := run("damaged", 1e6, 10, nil)
	cutLines(t, damaged, func(line string) string { return "{" + line }, `"round":3`)
	other := run("other", 1e6, 10, func(r *harness.Result) { r.Workload.Workers = 2 })
	for _, c := range []struct {
		args []string
		want int
		said string
	}{
		{[]string{base, base}, 0, "the same run"},
		{[]string{base, like}, 0, "No regression over 5 %. In all: 2 same"},
		{[]string{slow, base}, 0, "2 better"},
		{[]string{base, slow}, 1, "REGRESSED: lock=mcs/workers=1/hold=0s, lock=tas/workers=1/hold=0s"},
		{[]string{base, slow, "--fail-over", "20%"}, 0, "No regression over 20 %"},
		{[]string{base, slow, "--locks", "mcs"}, 1, "In all: 1 regressed"},
		{[]string{base, broken}, 1, "NEW violated exclusion in 1 of 10 rounds: lost"},
		{[]string{base, broken, "--locks", "tas"}, 0, "1 same"},
		{[]string{base, wild}, 3, "too noisy"},
		{[]string{base, crashed}, 1, "NEW violated crash in 10 of 10 rounds: panic: no node"},
		{[]string{base, lost}, 3, "NEW has results of 1 of its 2 cases"},
		{[]string{lost, base}, 3, "BASE has results of 1 of its 2 cases"},
		{[]string{base, damaged}, 3, "2 lines of NEW that cannot be read"},
		{[]string{damaged, base}, 3, "2 lines of BASE that cannot be read"},
		{[]string{base, few}, 3, "too few rounds"},
		{[]string{base, slow, "--alpha", "0.0000001"}, 3, "too few rounds"},
	} {
		stdout, stderr, status := output(t, locklab(t, append([]string{"compare"}, c.args...)...))
		if status != c.want || !strings.Contains(strings.Join(strings.Fields(stdout), " "), c.said) || stderr != "" {
			t.Errorf("%v: exit status %d, want %d, and %q in\n%s%s", c.args, status, c.want, c.said, stdout, stderr)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"", "got 0 arguments"},
		{base, "got 1 arguments"},
		{base + " nowhere", "holds no run"},
		{"nowhere " + base, "holds no run"},
		{base + " " + other, "no case in common"},
		{base + " " + slow + " --locks nosuch", `"nosuch"`},
		{base + " " + slow + " --metric speed", "want one of throughput"},
		{base + " " + slow + " --metric requests", "a figure of requests"},
		{base + " " + slow + " --fail-over 5", `"5" is not a percentage`},
		{base + " " + slow + " --fail-over -1%", "not a percentage"},
		{base + " " + slow + " --fail-over NaN%", "not a percentage"},
		{base + " " + slow + " --alpha 0", "--alpha is 0"},
		{base + " " + slow + " --alpha NaN", "--alpha is NaN"},
		{base + " " + slow + " --format xml", "text, csv or json"},
		{base + " " + slow + " --workers 2", "--workers is for --interleave"},
		{base + " " + slow + " --rounds 20", "--rounds is for --interleave"},
		{"--interleave --rounds 9 --budget 1m " + base + " " + base, "not both"},
		{"--interleave --budget -1m " + base + " " + base, "--budget is -1m"},
		{"--interleave nowhere " + base, "is not there"},
		{"--interleave " + base + " " + base, "is a directory"},
	} {
		stdout, stderr, status := output(t, locklab(t, append([]string{"compare"}, strings.Fields(c.args)...)...))
		if status != exitUsage || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "locklab: ") || !strings.Contains(stderr, c.want) || stdout != "" {
			t.Errorf("%s: exit status %d, said %q, want one line with %q; printed %q", c.args, status, stderr, c.want, stdout)
		}
	}
}

// TestCompareFlags: each flag is known to be for both ways or for --interleave
// alone, where it would otherwise be ignored in silence.
func TestCompareFlags(t *testing.T) {
	both := []string{"fail-over", "alpha", "metric", "format", "interleave", "locks", "help"}
	help, _, _ := output(t, locklab(t, "compare", "--help"))
	_, flags, _ := strings.Cut(help, "Flags:\n")
	n := 0
	for line := range strings.Lines(flags) {
		_, name, found := strings.Cut(line, "--")
		if !found {
			continue
		}
		n++
		name, _, _ = strings.Cut(name, " ")
		if slices.Contains(both, name) == slices.Contains(toMeasure, name) {
			t.Errorf("--%s: is it for --interleave alone?", name)
		}
	}
	if n != len(both)+len(toMeasure) {
		t.Errorf("%d flags, %d are known", n, len(both)+len(toMeasure))
	}
}

// TestCompareUnreadable: what keeps it from comparing is never a regression.
func TestCompareUnreadable(t *testing.T) {
	base := writeRun(t, filepath.Join(t.TempDir(), "base"), 1e6, 6, nil)
	if err := os.Remove(filepath.Join(base, resultfile.ResultsName)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(base, resultfile.ResultsName), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := output(t, locklab(t, "compare", base, base)); status != exitUsage || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit status %d, said %q", status, stderr)
	}
	if got := status(notComparedError{errors.New("no space left")}); got != exitUsage {
		t.Errorf("exit status %d", got)
	}
}

func TestCompareFormats(t *testing.T) {
	root := t.TempDir()
	base, slow := writeRun(t, filepath.Join(root, "a"), 1e6, 10, nil), writeRun(t, filepath.Join(root, "b"), 0.9e6, 10, nil)
	stdout, stderr, status := output(t, locklab(t, "compare", base, slow, "--format", "csv"))
	lines, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if status != exitRegressed || err != nil || len(lines) != 3 || !slices.Contains(lines[1], "regressed") || !strings.Contains(stderr, "--interleave") {
		t.Errorf("exit status %d, %v\n%s%s", status, err, stdout, stderr)
	}
	stdout, stderr, status = output(t, locklab(t, "compare", base, slow, "--format", "json", "--metric", "throughput,jain"))
	var got struct {
		Outcome string
		Rows    []struct{ Verdict string }
	}
	if err := json.Unmarshal([]byte(stdout), &got); status != exitRegressed || err != nil || got.Outcome != "regressed" || len(got.Rows) != 2 || stderr != "" {
		t.Errorf("exit status %d, %v, %+v\n%s", status, err, got, stderr)
	}
}

// interleaved are the flags of a comparison of two builds that takes a second.
func interleaved(old, new string, more ...string) []string {
	return append([]string{"compare", "--interleave", old, new, "--locks", "ticket", "--workers", "1", "--metric", "cpu",
		"--rounds", "12", "--duration", "30ms", "--out", "pair"}, more...)
}

func TestInterleave(t *testing.T) {
	if raceEnabled {
		t.Skip("it is about processes, which the race detector makes slow and does not look into; TestInterleaveInterrupt runs under it")
	}
	same, slow := testBuilds(t)
	cmd := locklab(t, interleaved(same, slow)...)
	stdout, stderr, status := output(t, cmd)
	if status != exitRegressed || !strings.Contains(stdout, "sign test") || !strings.Contains(stdout, "REGRESSED: lock=ticket") {
		t.Fatalf("a slow build: exit status %d\n%s%s", status, stdout, stderr)
	}
	old, new := filepath.Join(cmd.Dir, "pair", "old"), filepath.Join(cmd.Dir, "pair", "new")
	var runs [2]*resultfile.Run
	for i, dir := range []string{old, new} {
		run, err := resultfile.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if m := run.Manifest; len(run.Results) != 12 || m.Pair == "" || m.Interrupted || m.Finished.IsZero() || m.Rounds != 12 || m.Overhead.Turn == 0 {
			t.Errorf("%d results, %+v", len(run.Results), m)
		}
		runs[i] = run
	}
	if _, stderr, status := output(t, locklab(t, "report", new)); status != 0 {
		t.Errorf("report: exit status %d, said %q", status, stderr)
	}
	if runs[0].Manifest.Pair != runs[1].Manifest.Pair {
		t.Error("the two runs do not know each other")
	}
	// The directories say the same again.
	again, stderr, status := output(t, locklab(t, "compare", old, new, "--metric", "cpu"))
	if status != exitRegressed || again != stdout {
		t.Errorf("exit status %d, said %q\n%s\nwant\n%s", status, stderr, again, stdout)
	}

	// A second comparison must not touch the first, unless it is told to.
	second := locklab(t, interleaved(same, same)...)
	second.Dir = cmd.Dir
	if _, stderr, status := output(t, second); status != exitUsage || !strings.Contains(stderr, "already holds a run") {
		t.Errorf("exit status %d, said %q", status, stderr)
	}
	second = locklab(t, interleaved(same, same, "--replace", "--rounds", "6", "--duration", "5ms", "--fail-over", "900%")...)
	second.Dir = cmd.Dir
	if stdout, stderr, status := output(t, second); status == exitRegressed || status == exitUsage {
		t.Errorf("the same build twice: exit status %d\n%s%s", status, stdout, stderr)
	}
	if !resultfile.Exists(old + ".previous") {
		t.Error("the earlier run is gone")
	}
}

// TestInterleaveLosses: a build whose processes die now and then is measured to
// the end, and does not pass.
func TestInterleaveLosses(t *testing.T) {
	apart(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, die string
		want      int
		said      string
	}{
		{"killed once", "4) kill -9 $$;;", 0, "hold=100ns, round 3: runner: measuring process: signal: killed"},
		{"killed twice", "4|5) kill -9 $$;;", exitUnsure, "NEW has 11 of its 12 rounds; round 3 was lost"},
		{"crashes", `4) read -r spec; echo '{"at":"lock"}'; echo 'panic: no node' >&2; exit 2;;`, exitRegressed, "NEW violated crash in 1 of 12 rounds"},
	} {
		dir := t.TempDir()
		path, log := filepath.Join(dir, "program"), filepath.Join(dir, "log")
		text := fmt.Sprintf("#!/bin/sh\necho begun >> '%s'\ncase $(wc -l < '%s') in %s esac\nexec '%s'\n", log, log, c.die, exe)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := locklab(t, interleaved(exe, path, "--duration", "20ms", "--fail-over", "900%")...)
		stdout, stderr, status := output(t, cmd)
		said := strings.Join(strings.Fields(stdout+stderr), " ")
		if status != c.want || !strings.Contains(said, c.said) {
			t.Errorf("%s: exit status %d, want %d, and %q in\n%s%s", c.name, status, c.want, c.said, stdout, stderr)
		}
	}
}

// TestInterleaveInterrupt: Ctrl-C keeps what was measured, and says what it says.
func TestInterleaveInterrupt(t *testing.T) {
	same, slow := testBuilds(t)
	cmd := locklab(t, interleaved(same, slow, "--rounds", "1000")...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	lines := bufio.NewScanner(stderr)
	for n := 0; lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if strings.HasPrefix(lines.Text(), "[") {
			if n++; n == 3 {
				if err := cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != exitInterrupted || !strings.Contains(stdout.String(), "sign test") {
		t.Errorf("exit status %d\n%s%s", status, stdout.String(), said.String())
	}
	for _, side := range sides {
		run, err := resultfile.Load(filepath.Join(cmd.Dir, "pair", side))
		if err != nil {
			t.Fatal(err)
		}
		if !run.Manifest.Interrupted || len(run.Results) < 3 || len(run.Results) > 15 || len(run.Damage) > 0 {
			t.Errorf("%s: interrupted is %v, %d results, damage %v", side, run.Manifest.Interrupted, len(run.Results), run.Damage)
		}
	}
}

// TestInterleavePlan: what one build does not have is skipped aloud, and too few
// rounds are refused before anything is measured.
func TestInterleavePlan(t *testing.T) {
	options := func(rounds int) *compareOptions {
		return &compareOptions{alpha: 0.05, run: runOptions{locks: "tas,mcs", workers: "1,2", rounds: rounds}}
	}
	both := runner.Build{Locks: []string{"tas", "mcs"}}
	less := runner.Build{Locks: []string{"mcs", "clh"}}
	p, _, skipped, err := options(20).plan([2]runner.Build{both, less}, 1)
	if err != nil || len(p.Cases) != 2 || len(skipped) != 1 || skipped[0].Lock != "tas" || !strings.Contains(skipped[0].Reason, "new build") {
		t.Errorf("%v, skipped %v, %v", p, skipped, err)
	}
	if _, _, _, err := options(20).plan([2]runner.Build{both, {}}, 1); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("nothing in common: %v", err)
	}
	// Four comparisons at 5 % together need 8 rounds: 1 - 2^-7 > 1 - 0.05/4.
	if _, _, _, err := options(8).plan([2]runner.Build{both, both}, 1); err != nil {
		t.Error(err)
	}
	if _, _, _, err := options(7).plan([2]runner.Build{both, both}, 1); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), "--rounds 8") {
		t.Errorf("seven rounds: %v", err)
	}
	if _, _, _, err := options(8).plan([2]runner.Build{both, both}, 2); err == nil {
		t.Error("two metrics do not count twice")
	}
	// A budget chooses the rounds, if they are enough.
	o := options(20)
	o.run.budget, o.run.duration = time.Hour, time.Second
	if p, need, _, err := o.plan([2]runner.Build{both, both}, 1); err != nil || need != 8 || p.Rounds < 200 || p.Rounds > 450 {
		t.Errorf("in an hour: %+v, %d rounds at least, %v", p, need, err)
	}
	o.run.budget = time.Minute
	if _, _, _, err := o.plan([2]runner.Build{both, both}, 1); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), "too small") {
		t.Errorf("a minute: %v", err)
	}
}
