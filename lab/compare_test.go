package lab

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/cmd/locklab/catalog"
	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

// slowed makes the test binary another build, with a ticket lock a microsecond slower.
const slowed = "LOCKLAB_TEST_SLOWED"

func suiteUnderTest() []*harness.Variant {
	return result.Each(catalog.All(), func(v *harness.Variant) *harness.Variant {
		if v.Name != "ticket" || os.Getenv(slowed) == "" {
			return v
		}
		slow := *v
		slow.Local = func(harness.Setup) harness.Local { return harness.Shared(new(slowLock)) }
		return &slow
	})
}

type slowLock struct{ sync.Mutex }

func (l *slowLock) Lock() {
	l.Mutex.Lock()
	for t := time.Now(); time.Since(t) < time.Microsecond; {
	}
}

func testBuilds(t *testing.T) (same, slow string) {
	t.Helper()
	exe := executable(t)
	dir := t.TempDir()
	same, slow = filepath.Join(dir, "same"), filepath.Join(dir, "slow")
	for path, text := range map[string]string{same: "exec '" + exe + "'", slow: slowed + "=1 exec '" + exe + "'"} {
		requireNoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	return same, slow
}

func writeRun(t *testing.T, dir string, rate float64, rounds int, edit func(*result.Result)) string {
	t.Helper()
	run := &result.Run{Manifest: result.Manifest{Rounds: rounds, Cases: 2, Started: time.Now(), Finished: time.Now()}}
	for round := range rounds {
		for i, name := range []string{"tas", "mcs"} {
			r := &result.Result{Lock: result.Lock{Name: name, Family: harness.Spin}, Round: round,
				Workload: harness.Workload{Workers: 1, Window: time.Second}, Elapsed: time.Second,
				Ops: uint64(rate*float64(1+i)) + uint64(1000*(round*7%rounds))}
			if edit != nil {
				edit(r)
			}
			run.Results = append(run.Results, r)
		}
	}
	saveRun(t, dir, run)
	return dir
}

// editResults replaces the matches of pattern in the results of the run in dir.
func editResults(t *testing.T, dir, pattern, by string) {
	t.Helper()
	name := filepath.Join(dir, result.ResultsName)
	before := readFile(t, name)
	after := regexp.MustCompile(pattern).ReplaceAllString(before, by)
	if after == before {
		t.Fatalf("no line matches %s", pattern)
	}
	writeFile(t, name, after)
}

func TestCompareStatus(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	run := func(name string, rate float64, rounds int, edit func(*result.Result)) string {
		return writeRun(t, filepath.Join(root, name), rate, rounds, edit)
	}
	base := run("base", 1e6, 10, nil)
	like := run("like", 1.001e6, 10, nil)
	slow := run("slow", 0.9e6, 10, nil)
	wild := run("wild", 1e6, 10, func(r *result.Result) { r.Ops = r.Ops * uint64(3+2*(r.Round%4)) / 6 })
	broken := run("broken", 1e6, 10, func(r *result.Result) {
		if r.Lock.Name == "mcs" && r.Round == 4 {
			r.Violations = []oracle.Violation{{Rule: "exclusion", Detail: "lost", Count: 1}}
		}
	})
	lost := run("lost", 1e6, 10, nil)
	editResults(t, lost, `(?m)^.*"name":"mcs".*\n`, "")
	damaged := run("damaged", 1e6, 10, nil)
	editResults(t, damaged, `(?m)^.*"round":3`, "{$0")
	unreadable := run("unreadable", 1e6, 6, nil)
	requireNoError(t, os.Remove(filepath.Join(unreadable, result.ResultsName)))
	requireNoError(t, os.Mkdir(filepath.Join(unreadable, result.ResultsName), 0o755))
	other := run("other", 1e6, 10, func(r *result.Result) { r.Workload.Workers = 2 })
	for _, c := range []struct {
		args []string
		want int
		said string
	}{
		{[]string{base, base}, 0, "the same run"},
		{[]string{base, like}, 0, "No regression over 5 %. In all: 2 not worse"},
		{[]string{slow, base}, 0, "2 better"},
		{[]string{base, slow}, 1, "REGRESSED: lock=mcs/workers=1/hold=0s and lock=tas/workers=1/hold=0s"},
		{[]string{base, slow, "--tolerance", "20%"}, 0, "No regression over 20 %"},
		{[]string{base, slow, "--locks", "mcs"}, 1, "In all: 1 regressed"},
		{[]string{base, broken}, 1, "NEW violated exclusion in 1 of 10 rounds: lost"},
		{[]string{base, wild}, 3, "not significant"},
		{[]string{base, lost}, 3, "NEW has results of 1 of its 2 cases"},
		{[]string{base, damaged}, 3, "2 lines of NEW that cannot be read"},
		{[]string{base, slow, "--alpha", "0.0000001"}, 3, "too few rounds"},
		{[]string{base, like, "--alpha", "0.0001"}, 0, "intervals of over 99.99 % each"},
	} {
		if _, stderr := requireStatus(t, c.want, append([]string{"compare"}, c.args...), c.said); stderr != "" {
			t.Errorf("%v: wrote %q", c.args, stderr)
		}
	}
	stdout, _ := requireStatus(t, exitFailed, []string{"compare", base, slow, "--format", "csv"}, "--interleave")
	lines, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if err != nil || len(lines) != 5 || !slices.Contains(lines[2], "regressed") {
		t.Errorf("%v\n%s", err, stdout)
	}
	requireRefusals(t, "compare", []refusal{
		{"", "got 0 arguments"},
		{unreadable + " " + unreadable, ""},
		{base, "got 1 argument;"},
		{base + " nowhere", "holds no run"},
		{"nowhere " + base, "holds no run"},
		{base + " " + other, "no case in common"},
		{base + " " + slow + " --locks nosuch", `"nosuch"`},
		{base + " " + slow + " --metric speed", "want one of throughput"},
		{base + " " + slow + " --metric requests", "a figure of requests"},
		{base + " " + slow + " --tolerance 5", "want a percentage such as 5%"},
		{base + " " + slow + " --tolerance NaN%", "want a percentage such as 5%"},
		{base + " " + slow + " --alpha 0", `"--alpha" flag: want`},
		{base + " " + slow + " --alpha NaN", `"--alpha" flag: want`},
		{base + " " + slow + " --format xml", "want one of text, markdown, html, csv, json"},
		{base + " " + slow + " --workers 2", "--workers is for --interleave"},
		{base + " " + slow + " --rounds 20", "--rounds is for --interleave"},
		{"--interleave --rounds 9 --budget 1m " + base + " " + base, "not both"},
		{"--interleave --budget -1m " + base + " " + base, `"--budget" flag: want 1ns to 168h0m0s`},
		{"--interleave nowhere " + base, "no such file"},
		{"--interleave " + base + " " + base, "is a directory"},
	})
}

func TestCompareTo(t *testing.T) {
	t.Parallel()
	base := writeRun(t, filepath.Join(t.TempDir(), "base"), 1e6, 10, func(r *result.Result) { r.Lock.Status = map[string]harness.Status{"mcs": harness.Broken}[r.Lock.Name] })
	broken := writeRun(t, filepath.Join(t.TempDir(), "broken"), 1e6, 10, func(r *result.Result) {
		if r.Workload.Workers = 1 + r.Round/9; r.Lock.Name == "mcs" && r.Round == 9 {
			r.Violations = []oracle.Violation{{Rule: "liveness", Detail: "a worker waited for ever", Count: 1}}
		}
	})
	for _, c := range []struct{ args, said string }{
		{base + " --to tas", "mcs (broken) is 2.0"},
		{base + " --to mcs", "tas is 0.50x"},
		{broken + " --to tas", "! mcs violated liveness in 1 of 10 results"},
		{base + " --to mcs --format csv", ",mcs (broken),0.5"},
		{base + " --to tas --format markdown", "| tas | 1"},
		{base + " --to tas --format html", `<th scope="row">tas</th><td class="decides">1`},
		{base + " --to tas --format json", `"longest"`},
		{base + " --to mcs --metric jain,throughput", "throughput as a ratio to mcs"},
	} {
		requireStatus(t, 0, strings.Fields("compare "+c.args), c.said)
	}
	requireRefusals(t, "compare", []refusal{
		{base + " --to clh", "no result of clh"},
		{broken + " --to mcs", "mcs violated liveness"},
		{base + " --to mcs --alpha 0.1", "--alpha"},
		{base + " --to mcs --locks tas --metric requests", "a figure of requests"},
		{base + " --to mcs --locks mcs", "both mcs (broken) and another"},
		{base + " " + base + " --to mcs", "one run"},
		{"--interleave --to mcs a b", "not both"},
		{base + " --interleave --to mcs", "two binaries"},
	})
}
