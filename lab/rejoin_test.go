package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"locklab/harness"
	"locklab/harness/ranks"
	"locklab/harness/resultfile"
)

// again returns the commands of processes, each with more arguments.
func again(t *testing.T, all []*rankProcess, more ...string) (out []*rankProcess) {
	t.Helper()
	for _, p := range all {
		cmd := exec.Command(p.Path, append(slices.Clone(p.Args[1:]), more...)...)
		cmd.Env, cmd.Dir = p.Env, p.Dir
		next := &rankProcess{cmd, new(said), p.dir}
		cmd.Stderr = next.stderr
		out = append(out, next)
	}
	return out
}

// run starts all ranks and returns how each has ended.
func run(t *testing.T, all []*rankProcess) (statuses []int) {
	t.Helper()
	for _, p := range all {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = p.Process.Kill() // it may have ended
			_ = p.Wait()
		})
	}
	for _, p := range all {
		_ = p.Wait() // the status says it
		statuses = append(statuses, p.ProcessState.ExitCode())
	}
	return statuses
}

// killed signals ranks when one has kept so many results, and waits for all.
func killed(t *testing.T, all []*rankProcess, results int, ranks ...int) {
	t.Helper()
	all[0].measured(t, results)
	for _, rank := range ranks {
		if err := all[rank].Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range all {
		_ = p.Wait() // killed, or ended by the loss
	}
}

// merged merges the parts of all ranks and returns the run.
func merged(t *testing.T, all []*rankProcess) (*resultfile.Run, string) {
	t.Helper()
	args := []string{"merge", "--out", "whole"}
	for _, p := range all {
		args = append(args, p.dir)
	}
	cmd := locklab(t, args...)
	stdout, stderr, status := output(t, cmd)
	if status != 0 && status != exitUnfit {
		t.Fatalf("merge: exit status %d, said\n%s%s", status, stdout, stderr)
	}
	run, err := resultfile.Load(filepath.Join(cmd.Dir, "whole"))
	if err != nil {
		t.Fatal(err)
	}
	return run, stderr
}

// allOnce fails t unless each part has each of n cases in each round once, and so has the
// merged run, but for windows that a busy machine opened apart.
func allOnce(t *testing.T, all []*rankProcess, cases, rounds int) *resultfile.Run {
	t.Helper()
	for _, p := range all {
		once(t, p.dir, cases, rounds)
	}
	run, _ := merged(t, all)
	seen := make(map[caseRound]int)
	for _, r := range run.Results {
		seen[caseRound{"lock=" + r.Lock.Name + "/" + r.Workload.Name(), r.Round}]++
		if len(r.Violations) > 0 || len(r.Ranks) != len(all) {
			t.Errorf("%s, round %d: %d ranks, %v", r.Lock.Name, r.Round, len(r.Ranks), r.Violations)
		}
	}
	for _, l := range run.Manifest.Lost {
		seen[caseRound{l.Case, l.Round}]++
		if !strings.Contains(l.Reason, "of it: 5 % is the most") { // its windows were apart
			t.Errorf("not merged: %s", l)
		}
	}
	for at, n := range seen {
		if n != 1 {
			t.Errorf("%v is there %d times", at, n)
		}
	}
	if len(seen) != cases*rounds || run.Manifest.Interrupted || len(run.Damage) > 0 {
		t.Errorf("%d cases and rounds, want %d; interrupted is %v, damage %v", len(seen), cases*rounds, run.Manifest.Interrupted, run.Damage)
	}
	return run
}

// planText is what a manifest says of the plan.
func planText(t *testing.T, m resultfile.Manifest) string {
	t.Helper()
	text, err := json.Marshal(planOf(m))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRanksResume: ranks are killed in the middle, twice, one loses its directory, and
// one the last line; started again with --resume, they measure what is missing, once.
func TestRanksResume(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	const cases, rounds = 2, 8
	all := startRanks(t, 3, "--locks", "redis-token,redsync", "--workers", "3", "--rounds", fmt.Sprint(rounds), "--duration", "200ms", "--job", "first")
	killed(t, all, 5, 0, 2)
	before, err := resultfile.ReadManifest(all[1].dir)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(all[1].dir, resultfile.ResultsName)
	text, err := os.ReadFile(cut)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n < 4 || n > cases*rounds-3 {
		t.Fatalf("%d results before it was killed", n)
	}
	if err := os.WriteFile(cut, text[:len(text)-100], 0o644); err != nil {
		t.Fatal(err)
	}
	second := again(t, all, "--resume", "--job", "second")
	for _, p := range second {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
	killed(t, second, bytes.Count(text, []byte("\n"))+2, 1)
	for rank, p := range second {
		if rank != 1 && (p.ProcessState.ExitCode() != exitUnfit || !strings.Contains(p.stderr.String(), "--resume")) {
			t.Errorf("rank %d: exit status %d, said\n%s", rank, p.ProcessState.ExitCode(), p.stderr)
		}
	}
	third := again(t, all, "--resume")
	if statuses := run(t, third); !slices.Equal(statuses, []int{0, 0, 0}) {
		t.Fatalf("exit statuses %v; rank 0 said\n%s\nrank 1 said\n%s", statuses, third[0].stderr, third[1].stderr)
	}
	if said := third[0].stderr.String(); !strings.Contains(said, "of 16 were measured before") || strings.Contains(said, " 0 of 16 were") {
		t.Errorf("rank 0 does not say with what it goes on:\n%s", said)
	}
	after := allOnce(t, all, cases, rounds).Manifest
	if a, b := planText(t, before), planText(t, after); a != b || after.Job != "first" {
		t.Errorf("the plan was\n%s\nand is\n%s", a, b)
	}
	lostDirectory(t, all, cases, rounds)
	rejoinRefused(t, all)
}

// lostDirectory goes on with a whole run of which a rank has nothing any more.
func lostDirectory(t *testing.T, all []*rankProcess, cases, rounds int) {
	old, err := os.ReadFile(filepath.Join(all[0].dir, resultfile.ResultsName))
	if err == nil {
		err = os.RemoveAll(all[2].dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	anew := again(t, all, "--resume")
	if statuses := run(t, anew); !slices.Equal(statuses, []int{0, 0, 0}) || !strings.Contains(anew[2].stderr.String(), "has kept nothing") ||
		!strings.Contains(anew[0].stderr.String(), "16 measurements that other ranks lack are measured again") {
		t.Fatalf("exit statuses %v; rank 0 said\n%s\nrank 2 said\n%s", statuses, anew[0].stderr, anew[2].stderr)
	}
	if dropped, err := os.ReadFile(filepath.Join(all[0].dir, resultfile.DroppedName)); err != nil || !bytes.HasSuffix(dropped, old) {
		t.Errorf("rank 0 has not kept what it has dropped: %v", err)
	}
	allOnce(t, all, cases, rounds)
}

// rejoinRefused goes on under other circumstances, which all ranks tell in one line.
func rejoinRefused(t *testing.T, all []*rankProcess) {
	name := filepath.Join(all[1].dir, resultfile.ManifestName)
	original, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		edit func(m *resultfile.Manifest)
		want string
	}{
		{func(m *resultfile.Manifest) { m.Seed++ }, "rank 1 (host "},
		{func(m *resultfile.Manifest) { m.Rounds++ }, "rounds 9, not 8"},
		{func(m *resultfile.Manifest) { m.Flags["workers"] = "4" }, `it was started with --workers "4", not "3"`},
		{func(m *resultfile.Manifest) { m.Ranks = 4 }, "is of 4 ranks, not 3"},
		{func(m *resultfile.Manifest) { m.Rank = 2 }, "holds the part of rank 2"},
		{func(m *resultfile.Manifest) { m.Binary = strings.Repeat("0", 64) }, "another build"},
		{func(m *resultfile.Manifest) { m.Job = "other" }, "job other, not first"},
		{func(m *resultfile.Manifest) { m.Rank, m.Ranks = 0, 0 }, "no part of a run"},
	} {
		var m resultfile.Manifest
		err := json.Unmarshal(original, &m)
		if err == nil {
			c.edit(&m)
			var text []byte
			if text, err = json.Marshal(m); err == nil {
				err = os.WriteFile(name, text, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		refusedByAll(t, again(t, all, "--resume"), c.want)
	}
	if err := os.WriteFile(name, original, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if run, err := resultfile.Load(p.dir); err != nil || len(run.Results) != 16 {
			t.Errorf("a refusal changed %s: %v", p.dir, err)
		}
	}
	alone := locklab(t, "run", "--resume", "--out", all[1].dir)
	if _, stderr, status := output(t, alone); status != exitUsage || !strings.Contains(stderr, "the part of rank 1 of 3: start all ranks again") {
		t.Errorf("a part by itself: exit status %d, said %q", status, stderr)
	}
}

// refusedByAll starts ranks, which must all say in one line what is wrong with rank 1.
func refusedByAll(t *testing.T, them []*rankProcess, want string) {
	t.Helper()
	for rank, status := range run(t, them) {
		said := them[rank].stderr.String()
		if status != exitUsage || strings.Count(said, "\n") != 1 || !strings.Contains(said, want) || !strings.Contains(said, "rank 1 (host ") {
			t.Errorf("rank %d: exit status %d, said %q, want one line with %q that names rank 1", rank, status, said, want)
		}
	}
}

// TestSpawnResume: a run of three spawned ranks, of which two are killed in the middle and
// then the command itself, goes on to one whole run.
func TestSpawnResume(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	const cases, rounds = 2, 8
	cmd := spawning(t, "--rounds", fmt.Sprint(rounds), "--duration", "200ms")
	var parts []*rankProcess
	for rank := range 3 {
		parts = append(parts, &rankProcess{cmd, new(said), filepath.Join(cmd.Dir, "run.ranks", fmt.Sprint(rank))})
	}
	cmd.Stdout, cmd.Stderr = parts[0].stderr, parts[0].stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	parts[0].measured(t, 4)
	part, err := resultfile.Load(parts[0].dir)
	if err != nil {
		t.Fatal(err)
	}
	if status := killedRanks(t, parts[:2]); status != exitUnfit {
		t.Fatalf("exit status %d, said\n%s", status, parts[0].stderr)
	}
	resume := func() *rankProcess { return again(t, parts[:1], "--resume")[0] }
	second := resume()
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	parts[2].measured(t, len(part.Results)+4)
	if err := second.Process.Kill(); err != nil { // its ranks go with it
		t.Fatal(err)
	}
	_ = second.Wait()
	third := resume()
	if status := run(t, []*rankProcess{third})[0]; status != 0 && status != exitUnfit {
		t.Fatalf("exit status %d, said\n%s", status, third.stderr)
	}
	after := allOnce(t, parts, cases, rounds)
	if a, b := planText(t, part.Manifest), planText(t, after.Manifest); a != b {
		t.Errorf("the plan was\n%s\nand is\n%s", a, b)
	}
	made, err := resultfile.Load(filepath.Join(cmd.Dir, "run"))
	if err != nil || made.Manifest.Interrupted || len(made.Results)+len(made.Manifest.Lost) != cases*rounds {
		t.Errorf("it left %d results, lost %v, %v", len(made.Results), made.Manifest.Lost, err)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "run.previous", resultfile.ResultsName)); err != nil {
		t.Errorf("what was merged before is gone: %v", err)
	}
}

// killedRanks kills spawned ranks and returns how the command has ended that spawned them.
func killedRanks(t *testing.T, parts []*rankProcess) (status int) {
	t.Helper()
	for _, p := range parts {
		run, err := resultfile.Load(p.dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(run.Results[0].Ranks[0].PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	_ = parts[0].Wait() // the status says it
	return parts[0].ProcessState.ExitCode()
}

// TestShared: done is what all ranks have, or what one has seen to break.
func TestShared(t *testing.T) {
	const n = 9 // in three bytes
	a := []byte{lacks, keeps, breaks, keeps, lacks, lacks, keeps, keeps, keeps}
	b := []byte{lacks, lacks, lacks, keeps, keeps, breaks, breaks, keeps, lacks}
	done, err := shared([][]byte{pack(a), pack(b)}, n)
	if want := []bool{false, false, true, true, false, true, true, true, false}; err != nil || !slices.Equal(done, want) {
		t.Errorf("%v, %v: want %v", done, err, want)
	}
	for _, bad := range [][]byte{nil, make([]byte, 2), make([]byte, 4)} {
		if _, err := shared([][]byte{pack(a), bad}, n); err == nil {
			t.Errorf("%d bytes are taken for those of %d cases and rounds", len(bad), n)
		}
	}
}

// FuzzShared: whatever a rank posts is refused or says of each case and round whether it
// is done.
func FuzzShared(f *testing.F) {
	f.Add([]byte{0x1b, 0xff}, 8)
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		if n < 0 || n > 1<<16 {
			return
		}
		own := bytes.Repeat([]byte{keeps}, n)
		done, err := shared([][]byte{pack(own), text}, n)
		if (err == nil) != (len(text) == (n+3)/4) || err == nil && len(done) != n {
			t.Errorf("%d of %d, %v", len(done), n, err)
		}
	})
}

// TestRecollect: what ranks say that do not begin alike.
func TestRecollect(t *testing.T) {
	members := []ranks.Member{{Rank: 0, Host: "a", PID: 1}, {Rank: 1, Host: "b", PID: 2}}
	run := &resultfile.Manifest{Seed: 5, Flags: map[string]string{"seed": "5"}}
	for _, c := range []struct {
		all  []memory
		want string // "" is no error
		run  bool
	}{
		{[]memory{{}, {}}, "", false},
		{[]memory{{Resume: true, Run: run}, {Resume: true}}, "", true},
		{[]memory{{Resume: true}, {Resume: true, Run: run}}, "", true},
		{[]memory{{Resume: true}, {Resume: true}}, "leave out --resume", false},
		{[]memory{{}, {Resume: true, Run: run}}, "rank 1 (host b, pid 2) has --resume, and rank 0", false},
		{[]memory{{Resume: true, Run: run}, {}}, "rank 0 (host a, pid 1) has --resume, and rank 1", false},
		{[]memory{{Resume: true, Run: run}, {Resume: true, Refused: "two\nlines"}}, "rank 1 (host b, pid 2) cannot go on: two lines", false},
		{[]memory{{Resume: true, Run: run}, {Resume: true, Run: &resultfile.Manifest{Seed: 6, Flags: run.Flags}}}, "rank 1 (host b, pid 2) goes on with another run than rank 0 (host a, pid 1): seed 6, not 5", false},
		{[]memory{{Resume: true, Run: run}, {Resume: true, Run: &resultfile.Manifest{Seed: 5}}}, "another", false},
	} {
		got, err := recollect(c.all, members)
		if (got != nil) != c.run || (err != nil) != (c.want != "") {
			t.Errorf("%+v: %v, %v", c.all, got, err)
		}
		if err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), harness.ErrUsage.Error()) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("error %q, want one line with %q", err, c.want)
		}
	}
}
