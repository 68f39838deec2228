package lab

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/harness/simulate"

	"locklab/internal/machine"
)

// simulatingCommand returns the command simulate as a process of a copy of this test, next
// to the simulating build.
func simulatingCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := locklab(t, append([]string{"simulate"}, args...)...)
	cmd.Path = linkedTest(t)
	build := exec.Command("go", "build", "-trimpath", "-tags", simulate.BuildTags, "-o", cmd.Path+simulate.BuildSuffix, "./testdata/simulator")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return cmd
}

// linkedTest links this test under a name in its own directory.
func linkedTest(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "locklab")
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

// A simulateRefusal is flags that simulate rejects, and part of the message.
type simulateRefusal struct{ args, want string }

var simulateRefusals = []simulateRefusal{
	{"", "which machine?"},
	{"--machine nosuch", "skylake-8x32"},
	{"--machine nosuch.json", "nosuch.json"},
	{"--machine skylake-24 --workers 49", "49 workers, and skylake-24 has 48 hardware threads"},
	{"--machine skylake-24 --workers 1..256", "48 hardware threads"},
	{"--machine skylake-24 --workers 0", `"0"`},
	{"--machine skylake-24 --workers 8..2", `"8..2" ends before it begins`},
	{"--machine skylake-24 --workers 1...4", "in --workers 1...4"},
	{"--machine skylake-24 --workers ..4", "in --workers ..4"},
	{"--machine skylake-24 --locks sync-mutex", "sync-mutex is of the family mutex"},
	{"--machine skylake-24 --locks sync-mutex,mcs", "sync-mutex is of the family mutex"},
	{"--machine skylake-24 --locks mutex", "only spin locks"},
	{"--machine skylake-24 --locks nosuch", `"nosuch"`},
	{"--machine skylake-24 --locks peterson --workers 3", "at most 2 workers"},
	{"--machine skylake-24 --wait park", "park sleeps or yields"},
	{"--machine skylake-24 --wait adaptive", "adaptive sleeps or yields"},
	{"--machine skylake-24 --wait never", "adaptive, spin, pause"},
	{"--machine skylake-24 --hold 1s", `"1s"`},
	{"--machine skylake-24 --hold -1ns", `"-1ns"`},
	{"--machine skylake-24 --think fast", `"fast"`},
	{"--machine skylake-24 --lines -1", `"-1"`},
	{"--machine skylake-24 --lines 99999", `"99999"`},
	{"--machine skylake-24 --seeds 0", "seeds is 0"},
	{"--machine skylake-24 --jobs 0", "jobs is 0"},
	{"--machine skylake-24 --out a --into b", "not both"},
	{"--machine skylake-24 --replace", "--out DIR"},
	{"--machine skylake-24 --duel --out a", "only prints"},
	{"--machine this --duel", "--duel is for"},
	{"extra", `"extra"`},
}

func TestSimulateUsage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	damaged := filepath.Join(dir, "damaged.json")
	if err := os.WriteFile(damaged, []byte(`{"name": "x", "sockets": 1`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range append([]simulateRefusal{
		{"--machine " + damaged, "damaged.json: simulate: machine: "},
		{"--machine " + dir, dir},
		{"--machine skylake-24 --into " + dir, dir},
	}, simulateRefusals...) {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			cmd := locklab(t, append([]string{"simulate"}, strings.Fields(c.args)...)...)
			// None of this needs the other build, which is missing here.
			cmd.Env = append(cmd.Env, "PATH=/nonexistent")
			stdout, stderr, status := output(t, cmd)
			if status != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
				t.Errorf("status %d, printed %q, said %q; want one line with %q", status, stdout, stderr, c.want)
			}
		})
	}
}

// TestSimulateWithout: without the other build and without a go command, one line explains
// how to build it.
func TestSimulateWithout(t *testing.T) {
	t.Parallel()
	cmd := locklab(t, "simulate", "--machine", "skylake-24", "--out", "run")
	cmd.Path = linkedTest(t)
	cmd.Env = append(cmd.Env, "PATH=/nonexistent")
	stdout, stderr, status := output(t, cmd)
	if status != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "make it by: go build -tags systematic,simulate -o "+cmd.Path+"-simulate ") {
		t.Errorf("status %d, printed %q, said %q", status, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "run")); err == nil {
		t.Error("it has begun a run")
	}
}

// simulationIsRead checks that the flags of a command are accepted: the only error is the
// missing simulating build.
func simulationIsRead(home, command string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	words := strings.Fields(command)
	if err := putRuns(home, []string{"locklab", "DIR"}); err != nil {
		return err
	}
	cmd := exec.Command(exe, words[1:]...)
	cmd.Dir, cmd.Env = home, append(os.Environ(), asMain+"=1", "PATH=/nonexistent")
	text, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(text), simulate.ErrNoBuild.Error()) {
		return fmt.Errorf("%s: %v: %s", command, err, text)
	}
	return nil
}

func TestListMachines(t *testing.T) {
	t.Parallel()
	stdout, _, status := output(t, locklab(t, "simulate", "--list"))
	for _, m := range simulate.List() {
		if !strings.Contains(stdout, "\n"+m.Name+" ") {
			t.Errorf("%s is not listed", m.Name)
		}
		line := stdout[strings.Index(stdout, "\n"+m.Name)+1:]
		line, _, _ = strings.Cut(line, "\n")
		if !strings.Contains(line, m.Evidence) || strings.Contains(line, "hypothetical") != m.Hypothetical {
			t.Errorf("%s: %q", m.Name, line)
		}
	}
	if status != 0 {
		t.Errorf("status %d", status)
	}
}

// TestSimulate: output and file are marked as simulated and do not depend on the number of
// processes.
func TestSimulate(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	args := []string{"--machine", "skylake-8x32", "--locks", "ticket,mcs,ttas-backoff", "--workers", "1,2,40", "--seeds", "2", "--hold", "10ns,1us"}
	cmd := simulatingCommand(t, append(args, "--jobs", "1", "-o", "run")...)
	stdout, stderr, status := output(t, cmd)
	table, report, _ := strings.Cut(stdout, "report: ")
	if status != 0 || !strings.HasPrefix(stdout, "simulated: skylake-8x32 (hypothetical): ") || !strings.Contains(stdout, "\naccuracy: ") || report == "" {
		t.Errorf("status %d, said %q, printed\n%s", status, stderr, stdout)
	}
	more := simulatingCommand(t, append(args, "--jobs", "3")...)
	if again, _, status := output(t, more); status != 0 || again != table {
		t.Errorf("with three processes: status %d, printed\n%s\nwant\n%s", status, again, table)
	}
	run, err := result.Load(filepath.Join(cmd.Dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Simulations) != 18 || len(run.Results) != 0 || len(run.Machines) != 1 || run.Manifest.Interrupted || run.Manifest.Finished.IsZero() {
		t.Fatalf("kept %d simulations, %d results, %d machines, manifest %+v", len(run.Simulations), len(run.Results), len(run.Machines), run.Manifest)
	}
	if m, err := simulate.Parse(run.Machines[0].File); err != nil || m.Name != "skylake-8x32" || !run.Machines[0].Hypothetical {
		t.Errorf("the machine kept is %+v, %v", m, err)
	}
	for _, s := range run.Simulations {
		if s.Simulated != "skylake-8x32" || !s.Hypothetical || s.Accuracy == "" || s.Seeds != 2 || s.PerAcquisition.Median <= 0 {
			t.Errorf("%+v", s)
		}
	}
	duel, _, status := output(t, simulatingCommand(t, "--machine", "skylake-8x32", "--duel"))
	if status != 0 || strings.Count(duel, "simulated: skylake-8x32 (hypothetical): two cores of ") != 2 {
		t.Errorf("--duel: status %d, printed\n%s", status, duel)
	}
}

// TestSimulateInto adds to a measured run: nothing else in it changes, and the section is
// the run's.
func TestSimulateInto(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	stdout, stderr, status := output(t, locklab(t, "run", "--locks", "mcs,sync-mutex", "--workers", "1,2", "--hold", "250ns", "--rounds", "1", "--duration", "5ms", "--out", dir))
	if status != 0 {
		t.Fatalf("status %d, said %s%s", status, stdout, stderr)
	}
	before, err := result.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := simulatingCommand(t, "--machine", "skylake-24", "--locks", "mcs", "--workers", "1,2", "--into", dir)
	if stdout, stderr, status = output(t, cmd); status != 0 || !strings.Contains(stdout, "0 lines, hold 250 ns, think 0 ns") {
		t.Fatalf("status %d, said %q, printed %q", status, stderr, stdout)
	}
	after, err := result.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(after.Results) != len(before.Results) || len(after.Simulations) != 2 || !after.Manifest.Finished.Equal(before.Manifest.Finished) {
		t.Errorf("%d results, were %d; %d simulations; finished %v, was %v", len(after.Results), len(before.Results), len(after.Simulations), after.Manifest.Finished, before.Manifest.Finished)
	}
}

// TestSimulateInterrupt: Ctrl-C stores and prints the finished cases.
func TestSimulateInterrupt(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	cmd := simulatingCommand(t, "--machine", "skylake-8x32", "--locks", "ticket,ttas", "--workers", "1..256", "--seeds", "1000", "--jobs", "2", "-o", "run")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	results := filepath.Join(cmd.Dir, "run", result.ResultsName)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if text, err := os.ReadFile(results); err == nil && bytes.Contains(text, []byte(`"kind":"simulation"`)) {
			break
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			t.Fatalf("nothing was simulated: %s", stderr.String())
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	run, err := result.Load(filepath.Join(cmd.Dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	if status := cmd.ProcessState.ExitCode(); status != exitInterrupted || !run.Manifest.Interrupted || len(run.Simulations) == 0 || len(run.Damage) > 0 ||
		!strings.Contains(stdout.String(), "\nttas ") || !strings.Contains(stderr.String(), "interrupted: ") {
		t.Errorf("status %d, interrupted is %t, %d simulations, damage %v; said %q, printed\n%s",
			status, run.Manifest.Interrupted, len(run.Simulations), run.Damage, stderr.String(), stdout.String())
	}
}

// TestSimulateThis describes this machine, and stores the measurements, the simulations and
// the machine.
func TestSimulateThis(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	if len(machine.CPUOrder()) < 2 {
		t.Skip("--machine this needs two processors")
	}
	cmd := simulatingCommand(t, "--machine", "this", "--locks", "mcs", "--workers", "1,2", "--seeds", "1", "-o", "run")
	stdout, stderr, status := output(t, cmd)
	if status != 0 || !strings.HasPrefix(stdout, "simulated: this: ") || !strings.Contains(stdout, "typical factor") || !strings.Contains(stdout, "fitted to") {
		t.Fatalf("status %d, said %q, printed\n%s", status, stderr, stdout)
	}
	run, err := result.Load(filepath.Join(cmd.Dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := simulate.Parse(run.Machines[0].File)
	if err != nil || m.Name != this || !strings.HasPrefix(m.Sources["transfer"], "measured here") || !strings.HasPrefix(m.Sources["window"], "measured here") {
		t.Errorf("the machine kept is %+v, %v", m, err)
	}
	// mcs with one and two workers, tas and ticket with two.
	if len(run.Simulations) != 4 || len(run.Results) != 4*hereRounds || len(run.Findings) != 2 {
		t.Errorf("kept %d simulations, %d results, %d findings", len(run.Simulations), len(run.Results), len(run.Findings))
	}
	for _, s := range run.Simulations {
		if s.Simulated != this || !strings.Contains(s.Accuracy, "On this machine") {
			t.Errorf("%+v", s)
		}
	}
	again := exec.Command(cmd.Path, "simulate", "--machine", "this", "--locks", "mcs", "--seeds", "1", "--into", "run")
	again.Dir, again.Env = cmd.Dir, cmd.Env
	stdout, stderr, status = output(t, again)
	more, err := result.Load(filepath.Join(cmd.Dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	if status != 0 || len(more.Simulations) != 4 || len(more.Results) != len(run.Results) || len(more.Findings) != 2 || !strings.Contains(stdout, "fitted to") {
		t.Errorf("beside what was measured: status %d, %d simulations, %d results, %d findings; said %q, printed\n%s",
			status, len(more.Simulations), len(more.Results), len(more.Findings), stderr, stdout)
	}
}

// TestNormalBuildHasNoHook: the measuring build has no hook in its atomic operations, the
// simulating build has.
func TestNormalBuildHasNoHook(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	hook := []byte(strings.Join([]string{"atomics.Set", "Scheduler"}, "")) // assembled, so that this test does not contain the text
	cmd := simulatingCommand(t)
	for exe, want := range map[string]bool{cmd.Path: false, cmd.Path + simulate.BuildSuffix: true} {
		text, err := os.ReadFile(exe)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, hook) != want {
			t.Errorf("%s has the hook: %t, want %t", filepath.Base(exe), !want, want)
		}
	}
}

func TestWorkerCounts(t *testing.T) {
	two := &simulate.Machine{Sockets: 2, Clusters: 1, Cores: 22, SMT: 2} // 88 threads
	for text, want := range map[string][]int{
		"":         {1, 2, 4, 8, 16, 22, 32, 44, 64},
		"1..":      {1, 2, 4, 8, 16, 22, 32, 44, 64, 88},
		"3..20":    {3, 4, 8, 16, 20},
		"5":        {5},
		"8,2,1..4": {1, 2, 4, 8},
		"1..256":   {1, 2, 4, 8, 16, 22, 32, 44, 64, 88, 128, 256}, // rejected later, with the reason
	} {
		got, err := workerCounts(text, two)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestShapeOf(t *testing.T) {
	// place gives thread th of core c of cache k of package p.
	place := func(cpu, th, c, k, p int) machine.Place {
		return machine.Place{CPU: cpu, Thread: th, Core: c, Cache: k, Node: p, Package: p}
	}
	var even machine.Topology
	for i := range 16 { // 2 packages of 2 caches of 2 cores of 2 threads
		even = append(even, place(i, i%2, i/2*2, i/4*4, i/8))
	}
	odd := machine.Topology{place(0, 0, 0, 0, 0), place(1, 0, 1, 0, 0), place(2, 0, 2, 2, 1)}
	untold := machine.Topology{{CPU: 0, Core: 0, Cache: -1, Node: -1, Package: -1}, {CPU: 1, Core: 1, Cache: -1, Node: -1, Package: -1}}
	for _, c := range []struct {
		t    machine.Topology
		want [4]int
	}{{even, [4]int{2, 2, 2, 2}}, {odd, [4]int{1, 1, 3, 1}}, {untold, [4]int{1, 1, 2, 1}}} {
		m := shapeOf(c.t)
		if got := [4]int{m.Sockets, m.Clusters, m.Cores, m.SMT}; got != c.want {
			t.Errorf("%v has the shape %v, want %v", c.t, got, c.want)
		}
	}

	field := harness.Table{Chart: harness.Heat}
	for _, name := range []string{"0", "1", "2", "4", "8"} {
		field.Columns = append(field.Columns, harness.Column{Name: name})
		field.Rows = append(field.Rows, harness.Row{Label: name, Cells: make([]harness.Cell, 5)})
	}
	ns := func(i, j int, x float64) { field.Rows[i].Cells[j] = harness.Cell{Median: x, N: 9} }
	ns(0, 1, 8)   // siblings
	ns(0, 2, 20)  // one cache
	ns(1, 2, 30)  // one cache
	ns(0, 4, 150) // other package
	times, pairs, err := transfers(&harness.Finding{Tables: []harness.Table{field}}, even)
	if err != nil || times != [4]float64{8, 25, 0, 150} || pairs != [4]int{1, 2, 0, 1} {
		t.Errorf("transfers are %v of %v pairs, %v", times, pairs, err)
	}
	if got := filled(times); got != [4]float64{8, 25, 25, 150} {
		t.Errorf("filled: %v", got)
	}
	if got := filled([4]float64{0, 0, 30, 0}); got != [4]float64{30, 30, 30, 30} {
		t.Errorf("filled: %v", got)
	}
	if _, _, err := transfers(&harness.Finding{}, even); err == nil {
		t.Error("a finding without a field is accepted")
	}
}
